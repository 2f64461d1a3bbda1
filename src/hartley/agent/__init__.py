"""Who answers questions: the trusted agent that holds a private table."""
