import { type AttackRow, row, rowOf } from './row.ts';

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
  row(
    'L6',
    'disk filled by copies',
    "large files in the place of a package's file, to have each copied before it is replaced",
    'ACCEPT',
  ),
  rowOf(
    'L7',
    'endless file',
    "a sparse file of terabytes in the place of a package's file",
    'ACCEPT without reading it; reading what may be compared ends at SIGTERM with `ABORTED`',
    [
      ['ACCEPT', 'of a tebibyte'],
      ['ABORTED', 'that has to be read'],
    ],
  ),
  row('L8', 'pipe', "a pipe that nobody writes to in the place of a package's file", 'APPLY_FAILED'),
  row(
    'L9',
    'open database',
    "reading the agent's database where an older agent left it readable: it is closed at the next start",
    'ACCEPT',
  ),
  row(
    'L10',
    'open key',
    "reading the agent's key or age identity, which somebody made readable",
    'PERMISSION',
  ),
  row('L11', 'lock held', "holding the agent's lock by reading its file", 'ACCEPT'),
  rowOf(
    'L12',
    'messages to systemd',
    "a program of a check that runs as an application's user says to systemd that it is the agent's main process, or that the agent has no watchdog; one that hides to outlive its limit",
    'ACCEPT: systemd takes no message of it for the agent; its control group is killed',
    [['ACCEPT']],
  ),
  rowOf(
    'L13',
    "root's compiled code",
    "a cache of compiled code, or a link in its place, in one's own folder, where a root that kept HOME or XDG_CACHE_HOME runs a program; one that everybody may write to",
    'ACCEPT: not used and not emptied',
    [
      ['ACCEPT', 'of another user'],
      ['ACCEPT', 'writable for others'],
    ],
  ),
  row(
    'L14',
    "another user's state",
    'a state directory of another user, whose owner can replace what root trusts',
    'PERMISSION',
  ),
  rowOf(
    'L15',
    'tokens of an image',
    'reading the one-time tokens of many hosts in a file that an image gave to all of them',
    'ACCEPT: the enrolment says that others can read it',
    [['ACCEPT']],
  ),
  row(
    'L16',
    'configuration of others',
    'changing or replacing what decides what a program does: agent.yaml, fleet-scheduler.yaml, keys.yaml, a kubeconfig, certificates, tokens or credentials that belong to another user, lie in a folder that others can write to, or that a link in such a folder leads to',
    'PERMISSION',
  ),
  row(
    'L17',
    'memory in a dump',
    'reading keys and secrets in the core file of a service that crashed, or in what a crash handler of the host stored of it',
    'ACCEPT',
  ),
  row(
    'L18',
    'watching an apply',
    'reading the arguments, environments and open files of all processes, and all files in memory, while secrets are written',
    'ACCEPT',
  ),
  row(
    'L19',
    'folders that others can write',
    'changing a folder or file that the agent makes, for a moment or for good, where root imports with the umask 0',
    'ACCEPT',
  ),
  rowOf(
    'L20',
    'forged images',
    "with the rights of the agent's pod: a bundle or an image that no release of the fleet names, changed blobs or an older root in the folder of the image loaders",
    '`UNKNOWN_KEY`, `WRONG_FLEET`, `ROOT_VERSION`, `DIGEST_MISMATCH`, `EXTRA_BUNDLE`; nothing is loaded',
    [
      ['UNKNOWN_KEY', 'another key built'],
      ['UNKNOWN_KEY', 'another key released'],
      ['WRONG_FLEET', 'another fleet'],
      ['ROOT_VERSION', 'an older one'],
      ['DIGEST_MISMATCH', 'blobs that were changed'],
      ['EXTRA_BUNDLE', 'no release names'],
    ],
  ),
];
