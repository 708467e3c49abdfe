"""Elements, plots and style sheet that reports and web pages share."""
