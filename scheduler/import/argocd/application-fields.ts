import { defined } from '#bundles/defined';
import { isRecord } from '#bundles/is-record';
import type { Manifest, ObjectAnnotation } from '../imported.ts';
import {
  annotateAll,
  groupOf,
  kindOf,
  listAt,
  nameOf,
  type PlacedManifest,
  recordAt,
  textAt,
  valueAt,
} from '../read/manifests.ts';
import type { NoteBook } from '../read/notes.ts';

const READ = new Set([
  'destination',
  'project',
  'source',
  'sources',
  'syncPolicy',
  'ignoreDifferences',
  'info',
  'revisionHistoryLimit',
]);

export const noteApplication = ({ value, at }: PlacedManifest, subject: string, notes: NoteBook): void => {
  const policy = recordAt(value, 'spec', 'syncPolicy');
  if (policy['automated'] === undefined)
    notes.add('changed', at, subject, {
      what: 'it is synced by hand; the agent applies every release',
      todo: 'A gate or an approval decides what is released (docs/promotion.md)',
    });
  const options = listAt(policy, 'syncOptions').filter((one) => one !== 'CreateNamespace=true');
  if (options.length > 0)
    notes.add('told', at, subject, {
      what: `syncOptions ${options.join(', ')} are not written`,
      todo: 'The agent applies on the server side; see fleet-ferry/force and fleet-ferry/prune in docs/kubernetes.md',
    });
  for (const field of Object.keys(recordAt(value, 'spec')).filter((one) => !READ.has(one)))
    notes.add('unmapped', at, subject, {
      what: `spec.${field} has no counterpart`,
      todo: 'Check whether it is needed',
    });
};

/** Settings of an Application as annotations of ours: no pruning, and differences to ignore. */
export const settingsOf = (
  { value, at }: PlacedManifest,
  subject: string,
  objects: readonly Manifest[] | undefined,
  notes: NoteBook,
): readonly ObjectAnnotation[] => {
  const automated = valueAt(value, 'spec', 'syncPolicy', 'automated');
  const keeps = isRecord(automated) && automated['prune'] !== true;
  const ignored = listAt(value, 'spec', 'ignoreDifferences').filter(isRecord);
  if (!objects) {
    if (keeps || ignored.length > 0)
      notes.add('decide', at, subject, {
        what: `${[keeps ? 'no pruning' : '', ignored.length > 0 ? 'ignoreDifferences' : ''].filter((one) => one !== '').join(' and ')} of a chart from elsewhere is not written, as its objects are not known`,
        todo: 'Write objectAnnotations with fleet-ferry/prune: disabled, or fleet-ferry/ignore, into workload.yaml',
      });
    return [];
  }
  const kept = keeps ? annotateAll(objects, { 'fleet-ferry/prune': 'disabled' }) : [];
  const rules = ignored.flatMap((rule) => {
    const [kind = '', name, group = ''] = [textAt(rule, 'kind'), textAt(rule, 'name'), textAt(rule, 'group')];
    const pointers = listAt(rule, 'jsonPointers').filter((one) => typeof one === 'string');
    const managers = listAt(rule, 'managedFieldsManagers').filter((one) => typeof one === 'string');
    if (listAt(rule, 'jqPathExpressions').length > 0)
      notes.add('unmapped', at, subject, {
        what: `jqPathExpressions for ${kind} are not written`,
        todo: 'Write them as JSON pointers: fleet-ferry/ignore: /spec/replicas',
      });
    const isMeant = objects.some(
      (one) => kindOf(one) === kind && groupOf(one) === group && (name === undefined || nameOf(one) === name),
    );
    if (!isMeant || pointers.length + managers.length === 0) return [];
    return [
      {
        kind,
        name: name ?? '*',
        set: defined({
          'fleet-ferry/ignore': pointers.length > 0 ? pointers.join(',') : undefined,
          'fleet-ferry/ignore-managers': managers.length > 0 ? managers.join(',') : undefined,
        }) as Readonly<Record<string, string>>,
      },
    ];
  });
  return [...kept, ...rules];
};
