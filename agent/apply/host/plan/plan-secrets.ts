import type { OwnedObject } from '../../../model/target.ts';
import type { WantedSecret } from '../desired/read-wanted.ts';
import { stopIfAborted } from '../host-error.ts';
import { note, type SecretDetail, toStep } from '../host-step.ts';
import { type Entry, entryReader } from '../live/read-entry.ts';
import { secretKey } from '../owned/owned-state.ts';
import { compareMeta, cannotReplace, nameOf, notRoot, ownerOf, type PlanContext } from './plan-context.ts';
import type { FileChange, FilePlan } from './plan-files.ts';

/**
 * Compares every file made of a secret with its live entry. Unlike for other files, neither a copy of the replaced file nor a digest of
 * the secret is kept in plan or inventory (security.md section 6).
 */
export const planSecrets = async (
  context: PlanContext,
  gone: ReadonlySet<string>,
): Promise<Omit<FilePlan, 'found'>> => {
  const list: FileChange[] = [];
  const owns: OwnedObject[] = [];
  await using reader = entryReader(context.options.root, context.signal);
  for (const secret of context.wanted?.secrets.values() ?? []) {
    stopIfAborted(context.signal);
    const live: Entry = gone.has(secret.path)
      ? { type: 'missing', leftover: false }
      : await reader.read(secret.path, secret.size);
    owns.push({ key: secretKey(secret.path), state: {} });
    list.push({ path: secret.path, ...planSecret(context, secret, live) });
  }
  return { list, owns };
};

const planSecret = (context: PlanContext, secret: WantedSecret, live: Entry): Omit<FileChange, 'path'> => {
  const { path, mode } = secret;
  const key = secretKey(path);
  if (live.type === 'directory') throw cannotReplace(path, 'a directory', 'a secret');
  if (live.type === 'other') throw cannotReplace(path, 'a device, socket or pipe', 'a secret');
  const ids = ownerOf(context, secret);
  const detail: Omit<SecretDetail, 'outdates'> = {
    path,
    ...nameOf(secret),
    mode,
    owner: context.options.isRoot && ids ? ids : null,
  };
  const act = (outcome: 'created' | 'configured', reasons: readonly string[], changes = true) => ({
    changes,
    step: (outdates: readonly string[]) =>
      toStep(key, outcome, reasons.join('; '), { kind: 'secret', detail: { ...detail, outdates } }),
  });
  const unowned = context.options.isRoot ? [] : [notRoot(secret)];
  if (live.type === 'missing') return act('created', ['missing', ...unowned]);
  if (live.type === 'link') return act('configured', ['it is a symbolic link', ...unowned]);
  const { differences, skipped } = compareMeta(context, secret, live);
  const owner = skipped === undefined ? [] : [skipped];
  if (live.digest !== secret.digest) return act('configured', ['content differs', ...differences, ...owner]);
  if (differences.length > 0) return act('configured', [...differences, ...owner]);
  if (live.leftover) return act('configured', ['remains of an interrupted write', ...owner], false);
  const step = skipped ? note(key, 'skipped', skipped) : note(key, 'unchanged', 'as desired');
  return { changes: false, step: () => step };
};
