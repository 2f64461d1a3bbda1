"""The web console: pages made on the server, with pictures in SVG, that work without script."""
