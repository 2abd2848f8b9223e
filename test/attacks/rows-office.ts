import { type AttackRow, row, rowOf } from './row.ts';

/** Media that a stranger prepared, read by any program (M40 to M59). */
export const FOUND_MEDIA: readonly AttackRow[] = [
  row(
    'M40',
    'contents by link',
    'the table of contents is a link to a file that only root may read, so that the refusal quotes it in the signed report',
    'MEDIUM_INVALID',
  ),
  row(
    'M41',
    'links and pipes on a medium',
    'a symbolic link, pipe or socket in the place of a folder, file, part or blob of a medium, for any program that reads or cleans it',
    'MEDIUM_INVALID',
  ),
  row(
    'M42',
    'pipe in place of a document',
    'a named pipe under the digest of a document, so that fleet-export verify never ends',
    'MEDIUM_INVALID',
  ),
  row(
    'M43',
    'folder changed while it is used',
    'a folder of a medium is replaced by a link between the look at it and the write into it',
    'MEDIUM_INVALID',
  ),
  row(
    'M44',
    'quoted text',
    'a document that is not JSON, so that the error of the parser quotes a piece of it in logs, events and reports',
    'BAD_JSON',
  ),
  row(
    'M45',
    'report by link',
    'a symbolic link at the path at which the next report of the agent will be written',
    'MEDIUM_INVALID',
  ),
  rowOf(
    'M46',
    'two-faced medium',
    'a medium whose controller or file system answers with other bytes, or with those of another genuine medium, in any one or all later of its reads',
    '`DIGEST_MISMATCH`, also for bytes that change after they were verified; nothing else is stored or applied',
    [['DIGEST_MISMATCH']],
  ),
];

/** What the office does with a medium that comes back (O1 to O19). */
export const OFFICE: readonly AttackRow[] = [
  row(
    'O1',
    'releases by link',
    "blobs of a stick are a link to the office's releases, and its table of contents lists them as superseded receipts, so that reports import removes them",
    'MEDIUM_INVALID',
  ),
  rowOf(
    'O2',
    'false receipts',
    'the unsigned table of contents calls other blobs superseded receipts',
    'ACCEPT; only what a signature proves to be ours is removed',
    [['ACCEPT']],
  ),
  row(
    'O3',
    'links at the office',
    'a symbolic link in the place of any folder or file of a stick that reports import and sites enroll read or write',
    'MEDIUM_INVALID',
  ),
  row(
    'O4',
    'request of a stranger',
    'one more request on a stick, in the hope that sites enroll takes all of them',
    'USAGE',
  ),
  row(
    'O5',
    'key taken over',
    'a request for the name of a known agent, in the hope that sites enroll --replace-key takes it',
    'USAGE',
  ),
  row(
    'O6',
    'key taken over beside another',
    'a request with another key for a known agent, beside the one that was named with --accept',
    'ALREADY_ENROLLED',
  ),
  row(
    'O7',
    'pipes at the office',
    'a named pipe in the place of any folder or file of a stick, so that reports import or sites enroll never ends',
    'MEDIUM_INVALID',
  ),
  row(
    'O8',
    'request or report by link',
    'a request or report on a stick is a link to a private key of the office',
    'MEDIUM_EMPTY',
  ),
  rowOf(
    'O9',
    'token found on a stick',
    'a finder of a stick enrols a key of its own with the one-time token of a host that asked on it',
    '`TOKEN_INVALID`; the request has a proof, not the token, and the host gets in',
    [['TOKEN_INVALID']],
  ),
  row(
    'O10',
    "proof from the office's database",
    "a copy of the office's database, to prove a token that is still open",
    'TOKEN_INVALID',
  ),
  row(
    'O11',
    'request changed on the way',
    'a request whose channel, labels, facts, time, proof or unknown fields were changed after the agent signed it, beside the right fingerprint',
    'REQUEST_INVALID',
  ),
  row(
    'O12',
    'signatures taken away',
    'a request in the form of earlier versions, in which a courier chooses channel and labels',
    'REQUEST_INVALID',
  ),
  row(
    'O13',
    'token in clear text',
    'a request of an earlier version that carries its one-time token',
    'TOKEN_INVALID',
  ),
  row(
    'O14',
    'other channel than agreed',
    'an agent that asks for another channel than the person named with its fingerprint',
    'REQUEST_INVALID',
  ),
  rowOf(
    'O15',
    'one report a thousand times',
    'thousands of links to one genuine report, or of copies with other spelling, a false signature or false events beside it, so that reports import verifies all of them',
    'ACCEPT; its events are read once',
    [['ACCEPT']],
  ),
  rowOf(
    'O16',
    'reports of a stranger',
    'a folder with thousands of reports of an agent that nobody enrolled, each with a line of output',
    '`AGENT_UNKNOWN`, once for the folder',
    [['AGENT_UNKNOWN']],
  ),
  row(
    'O17',
    'line forged by a name',
    'a line break in the name of a file, folder, label or person, so that a line of output says what the name wants',
    'MEDIUM_INVALID',
  ),
  rowOf(
    'O18',
    'hidden by a link',
    'a link in the place of the folder of an agent, a report or a request, so that a reader skips it and ends with 0',
    '`MEDIUM_INVALID` for it; all others are taken',
    [['MEDIUM_INVALID']],
  ),
  row(
    'O19',
    'junk reports',
    'tens of thousands of junk reports, so that a command of the office takes minutes and cannot be stopped meanwhile',
    'ABORTED',
  ),
];
