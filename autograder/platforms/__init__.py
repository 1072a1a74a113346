"""Grade labs on platforms such as Gradescope: package labs, and format results of submissions."""
