"""Common given names, in small letters: enough of them in a column show that it holds names of people.

Names that are also usual levels or places (max, carolina, victoria) are left out.
"""

from __future__ import annotations

_NAMES = """
adam adrian agnes agnieszka ahmed aisha alan alberto aleksandra alessandro alex alexander alexandra alexandre alfred
ali alice alicia amanda amy ana anders andre andrea andreas andrew andrzej angela anita anja anke ann anna anne
annette antoine anton antonio arthur astrid barbara beata beatriz ben benjamin bernard bernd bert birgit bjorn brian
bruno camille carla carlos carmen carol caroline catherine cecilia chantal charles charlotte chiara chris christa
christian christiane christina christine christoph christopher claire clara claudia claus cristina daniel daniela
david deborah denis dennis diana diego dieter dirk dominik donald dorota dorothy edith eduardo edward elena elisabeth
elizabeth ella ellen emily emma eric erik erika ernst eva ewa fabian fatima felix fernando filip finn florian
francesca francesco francisco francois frank franz frederic friedrich gabriel gabriela gary georg george gerard gerd
gerhard gertrud giovanni gisela giulia giuseppe greta grzegorz guido gustav hannah hannelore hans harald hassan
heather heike heinrich heinz helen helena helga henri henry herbert hermann horst ian ibrahim ines ingrid irena irene
isabel isabelle ivan jack jacob jacques jakub james jan jana jane janet jason javier jean jennifer jens jessica joan
joanna joao joaquim johan johann johanna john jonas jonathan jorg jose josef joseph joshua juan judith julia julie
julien jurgen karen karin karl karl-heinz katarzyna kate katharina katherine kathrin kenneth kevin klaus krzysztof
kurt lars laura laurent lea lena leon lisa lorenzo louis louise luca lucas lucia lucy luis luisa lukas maciej
magdalena malgorzata manfred manuel manuela marc marcel marcin marco margaret maria marie marina mario marion mark
markus marta martha martin martina mary mateusz matteo matthew matthias maximilian mehmet melanie mia michael michal
michel michele michelle miguel mohamed mohammed monica monika muhammad mustafa nadine nancy natalia nathalie nicholas
nicola nicolas nicole niklas nina noah nora olga oliver olivia oscar otto pablo paolo pascal patricia patrick paul
paula paulo pawel pedro peter petra philip philipp philippe pierre piotr rachel rafael rainer ralf ramon raphael
rebecca regina renate ricardo richard rita robert roberto roger roland rolf rosa ruth ryan sabine samuel sandra sara
sarah scott sebastian sergio sharon silke silvia simon simone sofia sonja sophia sophie stefan stefanie stefano
stephan stephen steven susan susanne sven sylvia tanja tatjana teresa theo thomas tim tobias tom tomasz torsten ulrich
ulrike ursula ute uwe valentina valerie vanessa vera veronica victor vincent walter werner wilhelm william willy
wolfgang xavier yasmin yusuf yves zofia
"""
GIVEN_NAMES = frozenset(_NAMES.split())
