"""Hand-ins that share more than the lab, the class and chance explain: `python -m alike`, beside the engine.

It needs the extra `alike`. It reads what marking has kept, and writes one page, `report/alike.html`.

compare     what two hand-ins share, of words and of code
pairs       which of a class's hand-ins are worth a look
"""
