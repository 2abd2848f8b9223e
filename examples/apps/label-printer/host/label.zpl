^XA
^FO50,50^A0N,50,50^FDHalden Foods^FS
^FO50,120^A0N,30,30^FDLot {lot}  {weight} kg^FS
^FO50,170^A0N,30,30^FDBest before {date}^FS
^XZ
