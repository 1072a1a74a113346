"""What a class gets back: marks, tables for the platforms, feedback pages, and the class in one page.

marks           the marks of a class, from the gradebook, the roster and where hand-ins came from
tables          the marks as each platform's import takes them
feedback        a student's page; giving_back: the pages in the forms that platforms take back
figures         what the marks and verdicts of a class add up to
page            the class in one page
pseudonyms      names left out
"""
