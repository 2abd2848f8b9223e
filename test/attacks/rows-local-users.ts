import { type AttackRow, row } from './row.ts';

/** Local users of a host that runs an agent (L1 to L19). */
export const LOCAL_USERS: readonly AttackRow[] = [
  row(
    'L1',
    'link behind a link',
    "a link of one's own behind a link of root, so that root writes elsewhere",
    'APPLY_FAILED',
  ),
  row(
    'L2',
    'link in a shared directory',
    'a link of root in a directory that others can change',
    'APPLY_FAILED',
  ),
  row(
    'L3',
    'link race',
    'swapping a directory for a link and back while the agent writes there',
    'APPLY_FAILED',
  ),
  row(
    'L4',
    'hard link',
    "a hard link to a file of root in one's own directory, to be given that file",
    'ACCEPT',
  ),
  row(
    'L5',
    'moved directory',
    "moving a closed directory of root within one's own directory to the name of an open one",
    'APPLY_FAILED',
  ),
];
