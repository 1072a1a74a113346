"""Reports: feedback pages for students, a report for the instructor, and marks for platforms.

marks               read the marks of a class, from the gradebook and the roster
statistics          compute statistics of a class's marks and verdicts
class_page          write the instructor's report about a class
feedback_summary    summarise points, mistakes, comments and dates of one submission
student_page        render a student's feedback page as HTML
feedback_pages      write the feedback pages of a class
feedback_zips       pack feedback for upload to learning platforms
platform_csv        write marks in the CSV formats of learning platforms
manual_marks        write and import spreadsheets for manual grading of one question
term                compute each student's result of the term from all labs
terminal            show one student's results as text in the terminal
pseudonyms          assign pseudonyms to students for anonymous reports
safe_html           convert students' texts, code and outputs to safe HTML
safe_formgrader   make the pages of nbgrader's formgrader safe
"""
