import {
  isYamlFile,
  kindOf,
  listAt,
  nameOf,
  namespaceOf,
  type PlacedManifest,
  readManifests,
  recordAt,
  textAt,
  textsAt,
  valueAt,
} from '../read/manifests.ts';
import type { Given, SourceTree } from '../imported.ts';
import type { NoteBook } from '../read/notes.ts';

/**
 * The variables of `postBuild`, those of ConfigMaps included where the repository has them; undefined: Flux substitutes nothing.
 * Values of Secrets are not read.
 */
export const variablesOf = (
  { value, at }: PlacedManifest,
  here: readonly PlacedManifest[],
  {
    repository: { tree },
    given,
  }: { readonly repository: { readonly tree: SourceTree }; readonly given: Given },
  notes: NoteBook,
): Readonly<Record<string, string>> | undefined => {
  if (valueAt(value, 'spec', 'postBuild') === undefined) return undefined;
  const from = listAt(value, 'spec', 'postBuild', 'substituteFrom');
  const own = textsAt(value, 'spec', 'postBuild', 'substitute');
  if (from.length === 0 && Object.keys(own).length === 0) return undefined;
  const subject = `Kustomization ${namespaceOf(value) ?? ''}/${nameOf(value)}`;
  const read = from.flatMap((one) => {
    const [kind, name] = [textAt(one, 'kind') ?? '', textAt(one, 'name') ?? ''];
    const isIt = (other: PlacedManifest): boolean =>
      kindOf(other.value) === kind &&
      nameOf(other.value) === name &&
      (namespaceOf(other.value) ?? namespaceOf(value)) === namespaceOf(value);
    if (kind === 'Secret') {
      notes.add('decide', at, subject, {
        what: `variables come from the Secret ${name}, whose values are not copied`,
        todo: 'Give those that are no secret with --variable <name>=<value>; make the others a secret set (docs/secrets.md)',
      });
      return [];
    }
    const found = here.find(isIt) ?? everywhere(tree).find(isIt);
    if (found) return [textsAt(found.value, 'data')];
    if (valueAt(one, 'optional') !== true)
      notes.add('decide', at, subject, {
        what: `variables come from the ${kind} ${name}, which is not in the repository`,
        todo: 'Give each with --variable <name>=<value>',
      });
    return [];
  });
  return Object.assign({}, given.variables, ...read, own) as Readonly<Record<string, string>>;
};

const parsed = new WeakMap<SourceTree, readonly PlacedManifest[]>();

const everywhere = (tree: SourceTree): readonly PlacedManifest[] => {
  const known = parsed.get(tree);
  if (known) return known;
  const all = [...tree.files].flatMap(([path, bytes]) =>
    isYamlFile(path) && bytes.includes('ConfigMap') ? readManifests(path, tree.shown(path), bytes) : [],
  );
  const maps = all.filter(
    ({ value }) => kindOf(value) === 'ConfigMap' && Object.keys(recordAt(value, 'data')).length > 0,
  );
  parsed.set(tree, maps);
  return maps;
};
