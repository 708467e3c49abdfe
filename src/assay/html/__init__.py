"""HTML elements, SVG plots and style sheet shared by reports and web pages."""
