import { FleetError } from '#bundles/errors';
import { errno, hostError } from '../host-error.ts';
import { openFile } from './open-file.ts';
import { openFolder } from './open-folder.ts';

export type Ids = { readonly uid: number; readonly gid: number };

/** The users and groups of the host by name; undefined if the file is missing (an empty root). */
export type Accounts = {
  readonly users: ReadonlyMap<string, number> | undefined;
  readonly groups: ReadonlyMap<string, number> | undefined;
};

/** Reads etc/passwd and etc/group below `root`, never those of this machine, whose user numbers may differ. */
export const readAccounts = async (root: string): Promise<Accounts> => ({
  users: await readDatabase(root, 'passwd'),
  groups: await readDatabase(root, 'group'),
});

/** Name -> number, the third field (passwd(5), group(5)). */
const readDatabase = async (root: string, name: string): Promise<ReadonlyMap<string, number> | undefined> => {
  await using folder = await openFolder(root, '/etc');
  if (folder === undefined) return undefined;
  try {
    await using found = await openFile(folder, name);
    if (!found)
      throw new FleetError('APPLY_FAILED', `/etc/${name} is not a plain file: owners cannot be looked up`);
    const lines = (await found.file.readFile('utf8')).split('\n').map((line) => line.split(':'));
    return new Map(lines.flatMap(([account, , id]) => (account && isId(id) ? [[account, Number(id)]] : [])));
  } catch (error) {
    if (errno(error) === 'ENOENT') return undefined;
    throw hostError(error, `reading /etc/${name}`);
  }
};

const isId = (text: string | undefined): text is string => text !== undefined && /^\d{1,10}$/.test(text);

/**
 * Returns the numbers of an owner and group. 'root' is 0 and digits are numbers. Returns undefined if there is no passwd file and the
 * agent is not root, because it does not set owners then.
 * @throws FleetError APPLY_FAILED naming the account that the host does not have
 */
export const resolveOwner = (
  accounts: Accounts,
  entry: { readonly path: string; readonly owner: string; readonly group: string },
  isRoot: boolean,
): Ids | undefined => {
  const uid = lookUp(accounts.users, entry.owner);
  const gid = lookUp(accounts.groups, entry.group);
  if (uid !== undefined && gid !== undefined) return { uid, gid };
  const database = uid === undefined ? accounts.users : accounts.groups;
  if (!isRoot && database === undefined) return undefined;
  const [kind, name, file] =
    uid === undefined ? ['user', entry.owner, 'passwd'] : ['group', entry.group, 'group'];
  throw new FleetError(
    'APPLY_FAILED',
    `${entry.path} must belong to the ${kind} ${JSON.stringify(name)}, which is not in the host's /etc/${file}`,
    { hint: `Make the ${kind} on the host first, or name another` },
  );
};

/** True if the host has the user and the group. */
export const hasOwner = (
  { users, groups }: Accounts,
  { owner, group }: { readonly owner: string; readonly group: string },
): boolean => lookUp(users, owner) !== undefined && lookUp(groups, group) !== undefined;

const lookUp = (accounts: ReadonlyMap<string, number> | undefined, name: string): number | undefined => {
  if (name === 'root') return 0;
  return accounts?.get(name) ?? (isId(name) ? Number(name) : undefined);
};
