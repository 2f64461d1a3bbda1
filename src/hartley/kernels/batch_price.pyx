# cython: language_level=3, overflowcheck=True, cdivision=False
"""The price of a batch for one row per person with nothing told: a second, compiled form.

It computes what ``hartley.agent.pricing.worst_case`` computes. Its functions have the names that
they have there and in ``known_types``, ``atoms``, ``one_row`` and ``regions``, where the reasons
stand. No charge rests on it: what is charged, certified, explained or verified is priced in Python,
and searches and curves, which price many batches, ask this form. Tests compare both.

It leaves to Python what it cannot decide: batches beyond its limits, and numbers beyond 64 bits.
Every sum and product is checked for overflow, and division rounds down, as in Python.
"""

from array import array

from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.string cimport memcmp

cdef extern from *:
    """
    #ifndef SOURCE_SHA256
    #define SOURCE_SHA256 ""
    #endif
    """
    const char *SOURCE_SHA256

SOURCE = SOURCE_SHA256.decode()  # a test says when this text was changed and not compiled again

cdef enum:  # statistics
    COUNT = 0
    SUM = 1
    SQUARES = 2
    ORDER = 3

cdef enum:  # limits
    MOST_BITS = 62  # a set of terms, columns or classes is one whole number
    MOST_QUESTIONS = 128  # a set of questions is two
    MOST_COLUMNS = 24
    MOST_DIRECTIONS = 16
    MOST_TERMS = 8  # of one question
    MOST_LEAVES = 256
    MOST_EDGES = 128
    MOST_PARTS = 64
    MOST_STATES = 96
    MOST_FORMS = 8  # with known columns
    MOST_TYPES = 64
    MOST_PRICED = 256

cdef long long FAR = 1LL << 62  # numbers of records are counted up to here, and prices below it


class Undecided(Exception):
    """Beyond the limits of this form."""


cdef struct Question:
    int statistic, form  # the form is numbered among those with known columns, or -1
    bint constant
    long long over, under, least, most, scale, shift
    int columns, known  # private and known ones of the form, which begin where direction says
    Py_ssize_t direction
    int terms
    Py_ssize_t term[MOST_TERMS]  # where each begins
    int bit[MOST_TERMS]  # of its known tests; -1 if it has none

cdef struct Asked:  # what remains of a question for a type
    int question, terms
    Py_ssize_t term[MOST_TERMS]  # where its private tests begin
    long long first_shift, last_shift
    long long columns, filtered

cdef struct Members:  # some of these
    int amount
    int at[MOST_QUESTIONS]

cdef struct Priced:
    unsigned long long first, second  # the members, as bits
    bint absent, silent
    long long cells

cdef struct KnownType:
    long long mask
    long long low[MOST_FORMS]
    long long high[MOST_FORMS]

cdef struct CodeClass:
    long long terms, least, most, size

cdef struct Column:
    Py_ssize_t number  # in the schema
    long long points, size
    bint nullable, tested
    int parts, first_bit
    CodeClass part[MOST_PARTS]

cdef struct Leaf:
    int column
    bint missing
    long long terms
    Py_ssize_t ranges, amount

cdef struct Direction:
    int size
    int column[MOST_COLUMNS]
    long long times[MOST_COLUMNS]
    long long columns

cdef struct State:
    long long alive  # the terms that are possible; in an atom, the questions that count its records
    long long points, held
    long long low[MOST_DIRECTIONS]
    long long high[MOST_DIRECTIONS]

cdef struct Vector:
    int place  # of its direction, or -1
    long long shift, scale  # its last coordinate is the quotient
    long long amount

cdef struct Batch:
    const long long *table
    const long long *data
    Py_ssize_t known, length
    int questions, forms, bits, columns, types, parts, priced
    Question question[MOST_QUESTIONS]
    Column column[MOST_COLUMNS]
    KnownType type[MOST_TYPES]
    KnownType refined[MOST_TYPES]
    Asked part[MOST_QUESTIONS]
    Priced price[MOST_PRICED]
    # the questions that are priced together, and their atoms
    int members, terms, leaves, directions, states, classes
    Asked *asked[MOST_BITS]
    int place[MOST_BITS]  # of the direction of each
    int owner[MOST_BITS]
    Leaf leaf[MOST_LEAVES]
    long long edge[MOST_EDGES]
    long long flip[MOST_EDGES]
    Direction direction[MOST_DIRECTIONS]
    State state[MOST_STATES]
    State other[MOST_STATES]
    long long outputs[MOST_STATES]
    bint seen[MOST_STATES]
    Vector vector[MOST_BITS]
    bint taken[MOST_BITS]
    int member[MOST_BITS]
    long long sums[MOST_BITS + 1]
    long long matrix[MOST_BITS][MOST_COLUMNS + 1]


def price_batch(bytes table, bytes questions, bint absent):
    """Return how many answers one row's data can cause to a batch; None where it is not decided.

    Args:
        table: the columns of the schema, as ``flat_columns`` writes them.
        questions: the different questions, as ``flat_question`` writes them.
        absent: whether the row may be absent.
    """
    cdef Batch *b = <Batch *> PyMem_Malloc(sizeof(Batch))
    cdef int t
    if b is NULL:
        raise MemoryError
    try:
        b.table, b.known = <const long long *> <const char *> table, len(table) // 16
        b.data, b.length = <const long long *> <const char *> questions, len(questions) // 8
        b.questions = b.forms = b.bits = b.columns = b.parts = b.priced = 0
        read(b)
        refine(b)
        most = 1
        for t in range(b.types):
            most = max(most, of_type(b, &b.type[t], absent))
        return most
    except (OverflowError, Undecided):
        return None
    finally:
        PyMem_Free(b)


# --- questions --------------------------------------------------------------------------------


def flat_columns(columns):
    """Write the columns of a schema, by name, as whole numbers of 64 bits."""
    return whole_numbers([n for c in columns.values() for n in (c.points, c.nullable)])


def flat_question(int statistic, grid, split, columns):
    """Write a question as whole numbers of 64 bits; nothing if that does not hold it.

    Args:
        statistic: its place in ``Statistic``.
        grid: its cells, a ``CellGrid``.
        split: what it asks of known and of private columns, a ``SplitQuestion`` with terms.
        columns: those of the schema, by name.
    """
    numbers = {name: number for number, name in enumerate(columns)}
    named = [column for column, _ in (*split.direction, *split.known)]
    if len({*named}) < len(named):
        return b""  # no translated form names a column twice
    codes = [statistic, grid.constant, grid.over, grid.under, grid.least, grid.most]
    codes += [split.scale, split.constant]
    codes += [len(split.direction), len(split.known), len(split.terms)]
    for column, times in (*split.direction, *split.known):
        codes += [numbers[column], times]
    for term in split.terms:
        for tests in term:  # of known columns, and of private ones
            codes.append(len(tests))
            for column, (ranges, missing) in tests:
                if any(low < 0 for low, _ in ranges):
                    return b""  # no translated test names a code that is none
                codes += [numbers[column], missing, len(ranges)]
                codes += [code for pair in ranges for code in pair]
    return whole_numbers(codes)


def whole_numbers(codes):
    """Return whole numbers as a text; an empty one if some does not fit."""
    try:
        return array("q", codes).tobytes()
    except OverflowError:
        return b""


cdef long long number_at(Batch *b, Py_ssize_t at) except? -1:
    """Return one of the numbers that were written of the questions."""
    if not 0 <= at < b.length:
        raise ValueError("A question is cut off; hint: write it with flat_question")
    return b.data[at]


cdef Py_ssize_t after_tests(Batch *b, Py_ssize_t at) except -1:
    """Return where a list of tests ends: its length, and of each test a column, whether a missing
    value passes, how many ranges of codes do, and these.
    """
    cdef long long amount
    cdef long long tests = number_at(b, at)
    at += 1
    while tests > 0:
        amount = number_at(b, at + 2)
        if not 0 <= amount <= (b.length - at - 3) // 2:
            raise ValueError("A test is cut off; hint: write it with flat_question")
        at += 3 + 2 * <Py_ssize_t> amount
        tests -= 1
    return at


cdef int read(Batch *b) except -1:
    """Read the questions that have more than one answer."""
    cdef Py_ssize_t at = 0
    cdef long long statistic, columns, known, terms
    cdef Question *q
    cdef int t
    while at < b.length:
        if b.questions >= MOST_QUESTIONS:
            raise Undecided
        q = &b.question[b.questions]
        statistic, q.constant = number_at(b, at), number_at(b, at + 1) != 0
        q.over, q.under = number_at(b, at + 2), number_at(b, at + 3)
        q.least, q.most = number_at(b, at + 4), number_at(b, at + 5)
        q.scale, q.shift = number_at(b, at + 6), number_at(b, at + 7)
        columns, known, terms = number_at(b, at + 8), number_at(b, at + 9), number_at(b, at + 10)
        if not (0 <= columns <= b.known and 0 <= known <= b.known and terms >= 0):
            raise ValueError("A question is not whole; hint: write it with flat_question")
        if not (COUNT <= statistic <= ORDER and q.over > 0 and q.under > 0 and q.scale):
            raise ValueError("A question is not whole; hint: write it with flat_question")
        if columns > MOST_COLUMNS or known > MOST_COLUMNS or terms > MOST_TERMS:
            raise Undecided
        q.columns, q.known, q.terms, q.direction = <int> columns, <int> known, <int> terms, at + 11
        q.statistic, q.form = <int> statistic, -1
        at = q.direction + 2 * (q.columns + q.known)
        for t in range(q.terms):
            q.term[t], q.bit[t] = at, -1
            at = after_tests(b, after_tests(b, at))
        if q.constant and q.statistic != ORDER:
            continue  # it tells nothing
        if q.known:
            if b.forms >= MOST_FORMS:
                raise Undecided
            q.form = b.forms
            b.forms += 1
        for t in range(q.terms):
            if number_at(b, q.term[t]):
                if b.bits >= MOST_BITS:
                    raise Undecided
                q.bit[t] = b.bits
                b.bits += 1
        b.questions += 1
    return 0


cdef int column_of(Batch *b, long long number) except -1:
    """Return the place of a column of the schema in the batch."""
    cdef int place
    cdef Column *column
    for place in range(b.columns):
        if b.column[place].number == number:
            return place
    if b.columns >= MOST_COLUMNS:
        raise Undecided
    if not (0 <= number < b.known and b.table[2 * number] > 0):
        raise ValueError("A question names no column; hint: write it for this schema")
    column = &b.column[b.columns]
    column.number, column.points = <Py_ssize_t> number, b.table[2 * number]
    column.nullable = b.table[2 * number + 1] != 0
    column.size = column.points + column.nullable
    b.columns += 1
    return b.columns - 1


cdef int take_tests(Batch *b, Py_ssize_t at, long long terms) except -1:
    """List tests with the terms that ask for them."""
    cdef long long tests = number_at(b, at)
    cdef Leaf *leaf
    at += 1
    while tests > 0:
        if b.leaves >= MOST_LEAVES:
            raise Undecided
        leaf = &b.leaf[b.leaves]
        leaf.column, leaf.terms = column_of(b, number_at(b, at)), terms
        leaf.missing, leaf.amount = number_at(b, at + 1) != 0, <Py_ssize_t> number_at(b, at + 2)
        leaf.ranges = at + 3
        b.column[leaf.column].tested = True
        at = leaf.ranges + 2 * leaf.amount
        b.leaves += 1
        tests -= 1
    return 0


# --- types of the known columns ---------------------------------------------------------------


cdef int refine(Batch *b) except -1:
    """Split the rows into types by the known columns that questions use."""
    cdef int k, t, place, types
    cdef Py_ssize_t at
    cdef Question *q
    cdef KnownType *start = &b.type[0]
    cdef CodeClass *part
    cdef KnownType new
    b.leaves = 0
    for k in range(b.questions):
        q = &b.question[k]
        for t in range(q.terms):
            if q.bit[t] >= 0:
                take_tests(b, q.term[t], 1LL << q.bit[t])
    # Columns of forms come last, as in ``Resolved.refine``: the cap there is for every column, and
    # another order could keep below it where that one does not.
    for k in range(b.questions):
        q = &b.question[k]
        for at in range(q.direction + 2 * q.columns, q.direction + 2 * (q.columns + q.known), 2):
            column_of(b, number_at(b, at))
    b.types, start.mask = 1, (1LL << b.bits) - 1
    for k in range(b.forms):
        start.low[k] = start.high[k] = 0
    for place in range(b.columns):  # private columns have no place yet
        cut_column(b, place, b.bits)
        types = 0
        for t in range(b.types):
            for k in range(b.column[place].parts):
                new = b.type[t]
                part = &b.column[place].part[k]
                new.mask &= part.terms
                shift_forms(b, &new, place, part)
                types = with_type(b, types, &new)
        b.types = types
        for t in range(types):
            b.type[t] = b.refined[t]
    return 0


cdef int shift_forms(Batch *b, KnownType *new, int place, CodeClass *part) except -1:
    """Add what the codes of a known column add to the known parts of forms."""
    cdef int k
    cdef Py_ssize_t at
    cdef long long times
    cdef Question *q
    for k in range(b.questions):
        q = &b.question[k]
        for at in range(q.direction + 2 * q.columns, q.direction + 2 * (q.columns + q.known), 2):
            if number_at(b, at) == b.column[place].number:
                times = number_at(b, at + 1)
                new.low[q.form] += times * (part.least if times > 0 else part.most)
                new.high[q.form] += times * (part.most if times > 0 else part.least)
    return 0


cdef int with_type(Batch *b, int types, KnownType *new) except -1:
    """Add rows to the type with the same truth values; return how many types there are."""
    cdef int t, k
    for t in range(types):
        if b.refined[t].mask == new.mask:
            for k in range(b.forms):
                b.refined[t].low[k] = min(b.refined[t].low[k], new.low[k])
                b.refined[t].high[k] = max(b.refined[t].high[k], new.high[k])
            return types
    if types >= MOST_TYPES:
        raise Undecided
    b.refined[types] = new[0]
    return types + 1


cdef int asked_by(Batch *b, KnownType *known, Members *asked) except -1:
    """List what remains of the questions for a type."""
    cdef int k, t, s, place
    cdef Py_ssize_t at
    cdef Question *q
    cdef Asked new
    asked.amount = 0
    for k in range(b.questions):
        q = &b.question[k]
        new.question, new.terms = k, 0
        new.first_shift = new.last_shift = q.shift
        if q.form >= 0:
            new.first_shift += known.low[q.form]
            new.last_shift += known.high[q.form]
        for t in range(q.terms):
            if q.bit[t] >= 0 and not known.mask >> q.bit[t] & 1:
                continue
            at = after_tests(b, q.term[t])
            if not number_at(b, at):  # the term holds for every record of the type
                new.term[0], new.terms = at, 1
                break
            for s in range(new.terms):
                if same_tests(b, new.term[s], at):
                    break
            else:
                new.term[new.terms] = at
                new.terms += 1
        if new.terms:
            asked.at[asked.amount] = part_of(b, &new)
            asked.amount += 1
    return 0


cdef bint same_tests(Batch *b, Py_ssize_t first, Py_ssize_t second) except -1:
    """Whether two lists of tests are the same."""
    cdef Py_ssize_t length = after_tests(b, first) - first
    if after_tests(b, second) - second != length:
        return False
    return memcmp(&b.data[first], &b.data[second], length * sizeof(long long)) == 0


cdef int part_of(Batch *b, Asked *new) except -1:
    """Return the place of what remains of a question; types for which the same remains share it."""
    cdef int place, t
    cdef Py_ssize_t at, test
    cdef Asked *old
    cdef Question *q = &b.question[new.question]
    for place in range(b.parts):
        old = &b.part[place]
        if (
            old.question == new.question
            and old.terms == new.terms
            and old.first_shift == new.first_shift
            and old.last_shift == new.last_shift
            and memcmp(old.term, new.term, new.terms * sizeof(Py_ssize_t)) == 0
        ):
            return place
    if b.parts >= MOST_QUESTIONS:
        raise Undecided
    new.filtered = 0
    for t in range(new.terms):
        test = new.term[t] + 1
        for _ in range(number_at(b, new.term[t])):
            new.filtered |= 1LL << column_of(b, number_at(b, test))
            test += 3 + 2 * <Py_ssize_t> number_at(b, test + 2)
    new.columns = new.filtered
    for at in range(q.direction, q.direction + 2 * q.columns, 2):
        new.columns |= 1LL << column_of(b, number_at(b, at))
    b.part[b.parts] = new[0]
    b.parts += 1
    return b.parts - 1


# --- groups -----------------------------------------------------------------------------------


cdef object of_type(Batch *b, KnownType *known, bint absent):
    """Return how many answers a row of a type can cause: a product over independent groups."""
    cdef Members asked, group
    cdef Priced *priced
    cdef bint silent = True
    asked_by(b, known, &asked)
    present = joined = 1
    while asked.amount:
        take_linked(b, &asked, &group)
        priced = part_price(b, &group, False)
        silent = silent and priced.silent
        present *= priced.cells
        if absent:
            joined *= part_price(b, &group, True).cells
    return min(present + 1, joined) if absent and not silent else present


cdef int take_linked(Batch *b, Members *rest, Members *group) except -1:
    """Move the first member to a group, with all that share private columns with the group.

    Those without a column are one group.
    """
    cdef long long columns = b.part[rest.at[0]].columns, own
    cdef int k, left
    cdef bint grown = True
    group.at[0], group.amount = rest.at[0], 1
    rest.at[0] = -1
    while grown:
        grown = False
        for k in range(rest.amount):
            if rest.at[k] < 0:
                continue
            own = b.part[rest.at[k]].columns
            if own & columns or (not own and not columns):
                columns |= own
                group.at[group.amount] = rest.at[k]
                group.amount += 1
                rest.at[k], grown = -1, True
    left = 0
    for k in range(rest.amount):
        if rest.at[k] >= 0:
            rest.at[left] = rest.at[k]
            left += 1
    rest.amount = left
    return 0


cdef Priced *part_price(Batch *b, Members *group, bint absent) except NULL:
    """Price a group, once for all types that have it."""
    cdef unsigned long long first = 0, second = 0
    cdef int k
    cdef long long cells
    cdef bint silent = False
    cdef Priced *known
    for k in range(group.amount):
        if group.at[k] < 64:
            first |= <unsigned long long> 1 << group.at[k]
        else:
            second |= <unsigned long long> 1 << (group.at[k] - 64)
    for k in range(b.priced):
        known = &b.price[k]
        if known.first == first and known.second == second and known.absent == absent:
            return known
    if form_atoms(b, group):
        cells = price_part(b, absent, &silent)
    else:
        cells = price_unseen(b, group, absent)
    if cells >= FAR or b.priced >= MOST_PRICED:  # records were counted no further
        raise Undecided
    known = &b.price[b.priced]
    known.first, known.second, known.absent = first, second, absent
    known.cells, known.silent = cells, silent
    b.priced += 1
    return known


cdef long long price_unseen(Batch *b, Members *group, bint absent) except -1:
    """Price a group with too many atoms: questions with the same filter columns together."""
    cdef Members rest = group[0], bucket, linked
    cdef long long filtered = b.part[group.at[0]].filtered, columns = 0, limit = 1, product = 1
    cdef int k, left
    cdef bint alike = True
    if group.amount == 1:
        raise Undecided
    for k in range(group.amount):
        columns |= b.part[group.at[k]].columns
        alike = alike and b.part[group.at[k]].filtered == filtered
    for k in range(b.columns):
        if columns >> k & 1:
            limit = product_up_to_far(limit, b.column[k].size)
    limit += absent
    while rest.amount and product <= limit:
        filtered = b.part[rest.at[0]].filtered
        bucket.amount = left = 0
        for k in range(rest.amount):
            # Where all filter by the same columns, only single questions are smaller.
            if b.part[rest.at[k]].filtered == filtered and not (alike and k):
                bucket.at[bucket.amount] = rest.at[k]
                bucket.amount += 1
            else:
                rest.at[left] = rest.at[k]
                left += 1
        rest.amount = left
        while bucket.amount and product <= limit:
            if filtered:
                linked, bucket.amount = bucket, 0
            else:
                take_linked(b, &bucket, &linked)
            product *= part_price(b, &linked, absent).cells
    return min(limit, product)


# --- atoms ------------------------------------------------------------------------------------


cdef bint form_atoms(Batch *b, Members *group) except -1:
    """Form the atoms of a group; False if there are more than allowed."""
    cdef long long most, largest = 1, least = 1, once = 0, several = 0, full
    cdef int k, t, d, place
    cdef Column *column
    cdef State *start = &b.state[0]
    b.members, b.terms, b.leaves = group.amount, 0, 0
    if group.amount > MOST_BITS:
        raise Undecided
    for place in range(b.columns):
        b.column[place].tested = False
    for k in range(group.amount):
        b.asked[k] = &b.part[group.at[k]]
        if b.terms + b.asked[k].terms > MOST_BITS:
            raise Undecided
        for t in range(b.asked[k].terms):
            b.owner[b.terms] = k
            take_tests(b, b.asked[k].term[t], 1LL << b.terms)
            b.terms += 1
    most = 256 + 4 * b.terms  # ``most_atoms``
    for k in range(b.leaves):  # the tests of one term are about different columns
        several |= once & b.leaf[k].terms
        once |= b.leaf[k].terms
    for place in range(b.columns):
        if b.column[place].tested:
            cut_column(b, place, b.terms)
            largest = product_up_to_far(largest, b.column[place].parts)
            least = product_up_to_far(least, classes_of(b, place, ~several))
    if least > most:
        return False
    if largest > most:
        raise Undecided
    find_directions(b)
    full = (1LL << b.terms) - 1
    start.alive, start.points, start.held = full, 1, 0
    for d in range(b.directions):
        start.low[d] = start.high[d] = 0
    b.states, b.classes = 1, 0
    for place in range(b.columns):
        column = &b.column[place]
        column.first_bit = -1
        for d in range(b.directions):
            if b.direction[d].columns >> place & 1:
                column.first_bit = b.classes
        if column.first_bit >= 0 and not column.tested:  # never splits a state
            column.parts = 1
            column.part[0].terms, column.part[0].size = full, column.size
            column.part[0].least, column.part[0].most = 0, column.points - 1
        if column.first_bit >= 0 or column.tested:
            multiply(b, column, place)
    gather(b)
    return True


cdef int cut_column(Batch *b, int place, int terms) except -1:
    """Cut a column into classes of codes that pass the same tests."""
    cdef Column *column = &b.column[place]
    cdef long long end = column.points, missing = 0, asking = 0, low, high, mask
    cdef int k, edges = 2
    cdef Py_ssize_t at
    cdef Leaf *leaf
    b.edge[0], b.edge[1] = 0, end
    b.flip[0] = b.flip[1] = 0
    for k in range(b.leaves):
        leaf = &b.leaf[k]
        if leaf.column != place:
            continue
        asking |= leaf.terms
        if leaf.missing:
            missing |= leaf.terms
        for at in range(leaf.ranges, leaf.ranges + 2 * leaf.amount, 2):
            low, high = number_at(b, at), number_at(b, at + 1)
            if low < end:
                edges = with_flip(b, edges, low, leaf.terms)
                edges = with_flip(b, edges, high + 1 if high < end else end, leaf.terms)
    mask = ((1LL << terms) - 1) & ~asking
    missing |= mask
    column.parts = 0
    for k in range(edges - 1):
        mask ^= b.flip[k]
        low, high = b.edge[k], b.edge[k + 1] - 1
        add_codes(column, mask, low, high, high - low + 1)
    if column.nullable:
        add_codes(column, missing, 0, 0, 1)
    return 0


cdef int with_flip(Batch *b, int edges, long long edge, long long terms) except -1:
    """Turn terms on or off from a code on; return how many edges there are."""
    cdef int place = 0, k
    while place < edges and b.edge[place] < edge:
        place += 1
    if place == edges or b.edge[place] != edge:
        if edges >= MOST_EDGES:
            raise Undecided
        for k in range(edges, place, -1):
            b.edge[k], b.flip[k] = b.edge[k - 1], b.flip[k - 1]
        b.edge[place], b.flip[place] = edge, 0
        edges += 1
    b.flip[place] ^= terms
    return edges


cdef int add_codes(
    Column *column, long long terms, long long low, long long high, long long size
) except -1:
    """Add codes to the class that passes the same tests; a missing value has no code."""
    cdef int k
    for k in range(column.parts):
        if column.part[k].terms == terms:
            column.part[k].most = max(column.part[k].most, high)
            column.part[k].size += size
            return 0
    if column.parts >= MOST_PARTS:
        raise Undecided
    column.part[column.parts].terms, column.part[column.parts].size = terms, size
    column.part[column.parts].least, column.part[column.parts].most = low, high
    column.parts += 1
    return 0


cdef int classes_of(Batch *b, int place, long long terms) except -1:
    """Return into how many classes some of the terms cut a column."""
    cdef Column *column = &b.column[place]
    cdef int k, before, different = 0
    for k in range(column.parts):
        for before in range(k):
            if not (column.part[k].terms ^ column.part[before].terms) & terms:
                break
        else:
            different += 1
    return different


cdef int find_directions(Batch *b) except -1:
    """Number the directions of the members."""
    cdef int k, e, place
    cdef Question *q
    cdef Direction new
    cdef Direction *known
    b.directions = 0
    for k in range(b.members):
        q = &b.question[b.asked[k].question]
        new.size, new.columns = q.columns, 0
        for e in range(q.columns):
            new.column[e] = column_of(b, number_at(b, q.direction + 2 * e))
            new.times[e] = number_at(b, q.direction + 2 * e + 1)
            new.columns |= 1LL << new.column[e]
        for place in range(b.directions):
            known = &b.direction[place]
            if (
                known.columns == new.columns
                and known.size == new.size
                and memcmp(known.column, new.column, new.size * sizeof(int)) == 0
                and memcmp(known.times, new.times, new.size * sizeof(long long)) == 0
            ):
                break
        else:
            place = b.directions
            if place >= MOST_DIRECTIONS:
                raise Undecided
            b.direction[place] = new
            b.directions += 1
        b.place[k] = place
    return 0


cdef int multiply(Batch *b, Column *column, int place) except -1:
    """Multiply states by the classes of one more column, and merge those with equal fates."""
    cdef int s, k, d, e, states = 0
    cdef long long times
    cdef CodeClass *part
    cdef State new
    if column.first_bit >= 0:
        if b.classes + column.parts > MOST_BITS:
            raise Undecided
        b.classes += column.parts
    for s in range(b.states):
        for k in range(column.parts):
            part = &column.part[k]
            new = b.state[s]
            new.alive &= part.terms
            new.points = product_up_to_far(new.points, part.size)
            if column.first_bit >= 0:
                new.held |= 1LL << (column.first_bit + k)
            for d in range(b.directions):
                if b.direction[d].columns >> place & 1:
                    for e in range(b.direction[d].size):
                        if b.direction[d].column[e] == place:
                            times = b.direction[d].times[e]
                            new.low[d] += times * (part.least if times > 0 else part.most)
                            new.high[d] += times * (part.most if times > 0 else part.least)
            states = with_state(b, states, &new)
    b.states = states
    for s in range(states):
        b.state[s] = b.other[s]
    return 0


cdef int with_state(Batch *b, int states, State *new) except -1:
    """Add records to the state with the same fate; return how many states there are."""
    cdef int s, d
    cdef State *old
    for s in range(states):
        old = &b.other[s]
        if old.alive == new.alive:
            old.points = FAR if old.points > FAR - new.points else old.points + new.points
            old.held |= new.held
            for d in range(b.directions):
                old.low[d] = min(old.low[d], new.low[d])
                old.high[d] = max(old.high[d], new.high[d])
            return states
    if states >= MOST_STATES - 1:  # one more may be absent
        raise Undecided
    b.other[states] = new[0]
    return states + 1


cdef int gather(Batch *b) except -1:
    """Turn states of terms into atoms of questions: one term that holds is enough for a filter."""
    cdef int s, t, states = 0
    cdef long long alive
    for s in range(b.states):
        alive = 0
        for t in range(b.terms):
            if b.state[s].alive >> t & 1:
                alive |= 1LL << b.owner[t]
        b.state[s].alive = alive
        states = with_state(b, states, &b.state[s])
    b.states = states
    for s in range(states):
        b.state[s] = b.other[s]
    return 0


cdef long long product_up_to_far(long long first, long long second) except -1:
    """Multiply two numbers of records, neither below 1; FAR if the product is larger."""
    return FAR if first > FAR // second else first * second


cdef long long size_of(Batch *b, int place, long long held) except -1:
    """Return how many codes of a column of a form some classes have."""
    cdef Column *column = &b.column[place]
    cdef long long size = 0
    cdef int k
    for k in range(column.parts):
        if column.parts == 1 or held >> (column.first_bit + k) & 1:
            size += column.part[k].size
    return size


# --- one part ---------------------------------------------------------------------------------


cdef long long price_part(Batch *b, bint absent, bint *silent) except -1:
    """Return the smallest bound of a group, and whether a record is counted by no question."""
    cdef long long points = 1, joint, product = 1
    cdef State *nobody
    cdef int s, d, k, place
    for place in range(b.columns):
        if b.column[place].tested or b.column[place].first_bit >= 0:
            points = product_up_to_far(points, b.column[place].size)
    silent[0] = False
    for s in range(b.states):
        silent[0] = silent[0] or b.state[s].alive == 0
    if absent and not silent[0]:
        nobody = &b.state[b.states]
        nobody.alive, nobody.points, nobody.held = 0, 1, 0
        for d in range(b.directions):
            nobody.low[d] = nobody.high[d] = 0
        b.states += 1
    for s in range(b.states):
        b.outputs[s] = outputs_of(b, &b.state[s])
    joint = shared(b)
    for k in range(b.members):
        if product > joint:
            break
        product *= single(b, k)
    return min(min(points + absent, product), joint)


cdef long long outputs_of(Batch *b, State *atom) except -1:
    """Return a bound on how many vectors of answers the records of one atom cause."""
    cdef int k, place, vectors = 0
    cdef long long amount
    for k in range(b.members):
        place = b.place[k]
        if atom.alive >> k & 1 and b.direction[place].size:
            amount = crossings(b, k, atom.low[place], atom.high[place])
            if amount:
                vectors = with_vector(b, vectors, place, 0, 1, amount)
    return min(atom.points, regions(b, vectors, True, atom.held)) if vectors else 1


cdef int with_vector(
    Batch *b, int vectors, int place, long long shift, long long scale, long long amount
) except -1:
    """Add boundaries to those of the same vector; return how many vectors there are."""
    cdef int v
    cdef Vector *known
    for v in range(vectors):
        known = &b.vector[v]
        if known.place == place and known.shift * scale == shift * known.scale:
            known.amount += amount
            return vectors
    known = &b.vector[vectors]
    known.place, known.shift, known.scale, known.amount = place, shift, scale, amount
    return vectors + 1


cdef long long single(Batch *b, int k) except -1:
    """Return the price of one question of the group alone: inside, outside, and their hull."""
    cdef Question *q = &b.question[b.asked[k].question]
    cdef Direction *direction = &b.direction[b.place[k]]
    cdef long long low, high, held = 0, points = 1, within
    cdef int s, e
    cdef bint inside = False, outside = False
    for s in range(b.states):
        if b.state[s].alive >> k & 1:
            inside = True
            held |= b.state[s].held
        else:
            outside = True
    if not inside or (q.constant and q.statistic != ORDER):
        return 1
    if q.statistic == COUNT:
        return 1 + outside
    hull(b, k, 1LL << k, 1LL << k, &low, &high)
    for e in range(direction.size):
        points = product_up_to_far(points, size_of(b, direction.column[e], held))
    within = min(points, 1 + crossings(b, k, low, high))
    if q.statistic == ORDER or (q.statistic == SUM and not outside):
        return within + outside
    return min(within + outside, 1 + crossings_of_hull(b, k, low, high))


cdef int hull(
    Batch *b, int k, long long looked_at, long long alive, long long *low, long long *high
) except -1:
    """Find the range of a question's direction over the atoms in which some questions count."""
    cdef int s, place = b.place[k]
    cdef bint some = False
    low[0] = high[0] = 0
    for s in range(b.states):
        if b.state[s].alive & looked_at == alive:
            low[0] = min(low[0], b.state[s].low[place]) if some else b.state[s].low[place]
            high[0] = max(high[0], b.state[s].high[place]) if some else b.state[s].high[place]
            some = True
    return 0


cdef long long shared(Batch *b) except -1:
    """Add up the outputs of atoms, less those that atoms share."""
    cdef long long separating = 0, orders = 0, family, total = 0, together, beyond
    cdef int k, s, t, members
    cdef Question *q
    for k in range(b.members):
        q = &b.question[b.asked[k].question]
        if q.statistic == ORDER:
            orders |= 1LL << k
        if q.statistic == ORDER or (q.statistic == COUNT and not q.constant):
            separating |= 1LL << k
    for s in range(b.states):
        b.seen[s] = False
    for s in range(b.states):
        if b.seen[s]:
            continue
        family = b.state[s].alive & separating
        together, beyond, members = 0, 1, 0
        for t in range(s, b.states):
            if b.state[t].alive & separating == family:
                b.seen[t] = True
                together += b.outputs[t]
                members += 1
        if members > 1 and orders_agree(b, separating, family, family & orders):
            for t in range(s, b.states):
                if b.state[t].alive & separating == family:
                    beyond += beyond_zero(b, &b.state[t], b.outputs[t])
            together = min(together, beyond)
        total += together
    return total


cdef bint orders_agree(
    Batch *b, long long separating, long long family, long long orders
) except -1:
    """Whether every order statistic has the same cell for all records of the atoms."""
    cdef int k
    cdef long long low, high
    for k in range(b.members):
        if orders >> k & 1:
            hull(b, k, separating, family, &low, &high)
            if crossings(b, k, low, high):
                return False
    return True


cdef long long beyond_zero(Batch *b, State *atom, long long outputs) except -1:
    """Return a bound on the outputs that an atom adds to the output of adding nothing."""
    cdef int k, place, sums = 0, last = 0, vectors = 0
    cdef long long amount
    cdef Asked *asked
    cdef Question *q
    for k in range(b.members):
        if atom.alive >> k & 1 and adds(b, k):
            sums, last = sums + 1, k
    if sums == 0:
        return 0
    if sums == 1:  # boundaries on a line
        place = b.place[last]
        return min(crossings_of_hull(b, last, atom.low[place], atom.high[place]), outputs)
    for k in range(b.members):
        if not (atom.alive >> k & 1 and adds(b, k)):
            continue
        asked, place = b.asked[k], b.place[k]
        q = &b.question[asked.question]
        if asked.first_shift != asked.last_shift:
            return outputs
        amount = crossings_with_zero(b, k, atom.low[place], atom.high[place])
        if amount and q.columns:
            vectors = with_vector(b, vectors, place, asked.first_shift, q.scale, amount)
        elif amount:
            vectors = with_vector(b, vectors, -1, 1, 1, amount)
    return min(regions(b, vectors, False, 0) - 1, outputs)


cdef bint adds(Batch *b, int k) noexcept:
    """Whether a question adds something up, in more than one cell."""
    cdef Question *q = &b.question[b.asked[k].question]
    return (q.statistic == SUM or q.statistic == SQUARES) and not q.constant


# --- boundaries and regions -------------------------------------------------------------------


cdef long long crossed(Question *q, long long length) except -1:
    """Return how many boundaries a range of a length can have inside: ceil(length / step)."""
    return (length * q.under + (q.over - 1)) // q.over


cdef long long between(Question *q, long long low, long long high) except? -1:
    """Return how many boundaries lie above low and up to high, in their real place."""
    return (high - q.least) * q.under // q.over - (low - q.least) * q.under // q.over


cdef int value_range(
    Batch *b, int k, long long low, long long high, long long *first, long long *last
) except -1:
    """Find the range of the form."""
    cdef Asked *asked = b.asked[k]
    cdef long long scale = b.question[asked.question].scale
    first[0] = scale * (low if scale > 0 else high) + asked.first_shift
    last[0] = scale * (high if scale > 0 else low) + asked.last_shift
    return 0


cdef long long crossings(Batch *b, int k, long long low, long long high) except -1:
    """Return how many boundaries separate the contributions of one record of an atom."""
    cdef Question *q = &b.question[b.asked[k].question]
    cdef long long gaps = high - low, length, first, last
    if q.constant or q.statistic == COUNT:
        return 0
    length = magnitude(q.scale) * gaps
    if q.statistic == SUM:
        return min(crossed(q, length), gaps)
    if q.statistic == SQUARES:
        return min(squares_crossed(b, k, low, high), gaps)
    value_range(b, k, low, high, &first, &last)
    if last - first > length:  # a known column varies: the place is not known
        return min(min(crossed(q, length), between(q, first, last)), gaps)
    return min(between(q, first, last), gaps)


cdef long long squares_crossed(Batch *b, int k, long long low, long long high) except -1:
    """Return the same of squares, before it is compared with the gaps."""
    cdef Question *q = &b.question[b.asked[k].question]
    cdef long long length = magnitude(q.scale) * (high - low)
    cdef long long first, last
    value_range(b, k, low, high, &first, &last)
    if first < 0 < last:
        return crossed(q, first * first) + crossed(q, last * last)
    if first >= 0:
        return crossed(q, last * last - (last - length) * (last - length))
    return crossed(q, first * first - (first + length) * (first + length))


cdef long long crossings_of_hull(Batch *b, int k, long long low, long long high) except -1:
    """Return how many boundaries separate the contributions of an atom and no contribution."""
    cdef Asked *asked = b.asked[k]
    cdef Question *q = &b.question[asked.question]
    cdef long long values = high - low + 1, first, last
    cdef bint around_zero
    if q.constant:
        return 0
    value_range(b, k, low, high, &first, &last)
    around_zero = first <= 0 <= last
    if q.statistic == SQUARES:
        first, last = first * first, last * last
        first, last = (0 if around_zero else min(first, last)), max(first, last)
    if first > 0 or last < 0:
        return min(crossed(q, last if first > 0 else magnitude(first)), values)
    if q.statistic == SUM and asked.first_shift == asked.last_shift and first % q.scale == 0:
        values -= 1  # the form itself takes the value zero
    return min(crossed(q, last - first), values)


cdef long long crossings_with_zero(Batch *b, int k, long long low, long long high) except -1:
    """Return the same along the form itself, counting twice for a square that changes sign."""
    cdef long long first, last
    value_range(b, k, low, high, &first, &last)
    if b.question[b.asked[k].question].statistic == SQUARES and first < 0 < last:
        return min(squares_crossed(b, k, low, high), high - low + 1)
    return crossings_of_hull(b, k, low, high)


cdef long long columns_of(Batch *b, int v) noexcept:
    """Return the columns of a vector as bits; its last coordinate is one of them."""
    cdef Vector *vector = &b.vector[v]
    cdef long long columns = b.direction[vector.place].columns if vector.place >= 0 else 0
    return columns | (1LL << MOST_COLUMNS) if vector.shift else columns


cdef long long regions(Batch *b, int vectors, bint counted, long long held) except -1:
    """Return a bound on the regions into which hyperplanes of the listed vectors cut a space.

    ``counted`` says that a part has no more regions than the held codes of its columns have points.
    """
    cdef long long total = 1, part, points, columns
    cdef int v, w, place, members
    cdef bint grown
    for v in range(vectors):
        b.taken[v] = False
    for v in range(vectors):
        if b.taken[v]:
            continue
        b.taken[v], b.member[0], members = True, v, 1
        columns, grown = columns_of(b, v), True
        while grown:
            grown = False
            for w in range(v + 1, vectors):
                if not b.taken[w] and columns & columns_of(b, w):
                    b.taken[w], b.member[members], grown = True, w, True
                    columns |= columns_of(b, w)
                    members += 1
        part = elementary(b, members, 1 if members == 1 else rank(b, members))
        if counted:
            points = 1
            for place in range(b.columns):
                if columns >> place & 1:
                    points = product_up_to_far(points, size_of(b, place, held))
            part = min(part, points)
        total *= part
    return total


cdef long long elementary(Batch *b, int members, int most) except -1:
    """Return the sum of the elementary symmetric sums e_0 to e_most of the members' boundaries."""
    cdef int m, i
    cdef long long total = 0
    b.sums[0] = 1
    for i in range(1, most + 1):
        b.sums[i] = 0
    for m in range(members):
        for i in range(most, 0, -1):
            b.sums[i] += b.vector[b.member[m]].amount * b.sums[i - 1]
    for i in range(most + 1):
        total += b.sums[i]
    return total


cdef int rank(Batch *b, int members) except -1:
    """Return the rank of the members, by exact elimination in whole numbers."""
    cdef int m, n, c, e, pivot, independent = 0
    cdef long long top, factor, common
    cdef Vector *vector
    cdef Direction *direction
    for m in range(members):
        vector = &b.vector[b.member[m]]
        for c in range(MOST_COLUMNS):
            b.matrix[m][c] = 0
        if vector.place >= 0:
            direction = &b.direction[vector.place]
            for e in range(direction.size):
                b.matrix[m][direction.column[e]] = vector.scale * direction.times[e]
        b.matrix[m][MOST_COLUMNS] = vector.shift
    for m in range(members):
        pivot = 0
        while pivot <= MOST_COLUMNS and not b.matrix[m][pivot]:
            pivot += 1
        if pivot > MOST_COLUMNS:
            continue
        independent += 1
        top = b.matrix[m][pivot]
        for n in range(m + 1, members):
            factor = b.matrix[n][pivot]
            if not factor:
                continue
            common = 0
            for c in range(MOST_COLUMNS + 1):
                b.matrix[n][c] = b.matrix[n][c] * top - b.matrix[m][c] * factor
                common = gcd(common, b.matrix[n][c])
            if common > 1:  # keeps the numbers small
                for c in range(MOST_COLUMNS + 1):
                    b.matrix[n][c] //= common
    return independent


cdef long long magnitude(long long number) except -1:
    """Return a number without its sign. A minus sign alone is not checked for overflow."""
    return number if number >= 0 else 0 - number


cdef long long gcd(long long first, long long second) except -1:
    """Return the greatest common divisor, 0 of two zeros."""
    second = magnitude(second)
    while second:
        first, second = second, first % second
    return first
