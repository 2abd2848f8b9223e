import { posix } from 'node:path';
import { defined } from '#bundles/defined';
import { writeObject } from '../../model/yaml/write-object.ts';
import type { ChartContent, FolderContent, Manifest, Unit } from '../imported.ts';
import { substituteFile } from '../flux/substitute.ts';
import type { YamlMistake } from '../read/edit-documents.ts';
import type { NoteBook } from '../read/notes.ts';
import { filesBelow } from '../read/render-chart.ts';
import { listingText, overlayFor } from '../read/render-folder.ts';
import type { PlannedTarget } from './group-targets.ts';
import { holdsNameless, withoutNameless } from './without-nameless.ts';
import { type SurveyedText, withoutSecrets, withoutSecretValues } from './secret-values.ts';
import { surveySecrets } from './survey-secrets.ts';

export type NewFiles = Map<string, Buffer>;

/** Writes the content of a target. @returns its `manifests` */
export const placeContent = (target: PlannedTarget, files: NewFiles, notes: NoteBook): Manifest => {
  const { unit, workload, name, environment } = target;
  const folder = `apps/${workload}/${environment}-${name}`;
  const rules =
    unit.annotations.length > 0
      ? {
          objectAnnotations: unit.annotations.map(({ kind, name: named, set }) => ({
            target: { kind, name: named },
            set,
          })),
        }
      : {};
  switch (unit.content.kind) {
    case 'objects':
      putClean(files, `${folder}/objects.yaml`, unit.content.objects.map(writeObject).join('---\n'), {
        unit,
        set: workload,
        notes,
      });
      return { path: folder, type: 'plain', ...rules };
    case 'chart':
      return { ...placeChart(unit, unit.content, folder, files, notes), ...rules };
    case 'folder':
      return { ...placeFolder(unit, unit.content, { folder, set: workload }, files, notes), ...rules };
  }
};

const put = (files: NewFiles, path: string, text: string | Buffer): void => {
  files.set(path, Buffer.from(text));
};

/** Text that a setting of the tool gave, without the values of Secrets in it. */
const putClean = (
  files: NewFiles,
  path: string,
  text: string,
  {
    unit: { at },
    set,
    notes,
    beside,
  }: { readonly unit: Unit; readonly set: string; readonly notes: NoteBook; readonly beside?: SurveyedText },
): void => {
  const { bytes, leftOut, mistake } = withoutSecrets(Buffer.from(text), set, beside);
  if (mistake) {
    noteMistake(notes, at, path, mistake);
    return;
  }
  for (const { subject, keys } of leftOut) noteLeftOut(notes, at, { subject, keys, set });
  put(files, path, bytes);
};

const noteLeftOut = (
  notes: NoteBook,
  at: Unit['at'],
  {
    subject,
    keys,
    set,
  }: { readonly subject: string; readonly keys: readonly string[]; readonly set: string },
): void =>
  notes.add('decide', at, subject, {
    what: `its values (${keys.join(', ')}) are not copied`,
    todo: subject.startsWith('HelmRelease')
      ? 'Let the chart name an existing Secret'
      : `Set them at each site: fleet-scheduler secrets set --name ${set}, with the keys that its annotation names`,
  });

/** Notes a file that is not copied, because Secrets in it cannot be found. The build holds the package without it. */
const noteMistake = (notes: NoteBook, at: Unit['at'], subject: string, { message }: YamlMistake): void =>
  notes.add('decide', at, subject, {
    what: `it is not copied: its YAML has a mistake (${message}), so that Secrets in it cannot be found`,
    todo: 'Correct it and import again',
  });

const placeChart = (
  { at, id }: Unit,
  { chart, releaseName, values: all }: ChartContent,
  folder: string,
  files: NewFiles,
  notes: NoteBook,
): Manifest => {
  const { values, paths } = withoutSecretValues(all);
  for (const path of paths)
    notes.add('decide', at, id, {
      what: `the value ${path} looks like a secret and is not copied`,
      todo: 'Let the chart name an existing Secret, or write the value into values.yaml of the workload if it is not a secret',
    });
  const text = Object.keys(values).length === 0 ? '{}\n' : writeObject(values);
  put(files, `${folder}/values.yaml`, text);
  if (chart.from === 'elsewhere')
    return {
      path: folder,
      type: 'helm',
      chart: chart.chart,
      version: chart.version,
      values: ['values.yaml'],
      releaseName,
      hooks: 'keep',
    };
  const path = posix.join('sources', chart.tree.id, chart.path);
  for (const [file, bytes] of filesBelow(chart.tree.files, chart.path))
    put(files, posix.join(path, file), bytes);
  return {
    path,
    type: 'helm',
    values: [posix.relative(path, `${folder}/values.yaml`)],
    releaseName,
    hooks: 'keep',
  };
};

/** Path at which the survey of Secrets has the fields that the tool lays over a folder. */
const OVERLAY = '.fleet-ferry-overlay/kustomization.yaml';

/** Whether another target has written another listing there. */
const differsFrom = (present: Buffer | undefined, text: string | undefined): boolean =>
  text !== undefined && present !== undefined && present.toString() !== text;

const placeFolder = (
  unit: Unit,
  content: FolderContent,
  { folder, set }: { readonly folder: string; readonly set: string },
  files: NewFiles,
  notes: NoteBook,
): Manifest => {
  const { tree, path, overlay, listed, variables, dropped, used } = content;
  const bytesOf = (file: string): Buffer => tree.files.get(file) ?? Buffer.alloc(0);
  const nameless = used.filter((file) => holdsNameless(file, bytesOf(file)));
  const filled = new Map(
    used.map((file) => {
      const named = nameless.includes(file) ? withoutNameless(bytesOf(file)) : bytesOf(file);
      return [file, variables === undefined ? named : substituteFile(file, named, variables)] as const;
    }),
  );
  const survey = surveySecrets({
    files: new Map([...filled, [OVERLAY, Buffer.from(writeObject(overlay))]]),
    read: (file) => tree.files.get(file),
    objects: content.objects,
  });
  const cleaned = [...filled].map(
    ([file, bytes]) => [file, bytes, withoutSecrets(bytes, set, { path: file, survey })] as const,
  );
  const isClear = cleaned.every(([, bytes, clean]) => clean.bytes === bytes);
  const listing = listed && listingText(path, listed);
  const shared = posix.join('sources', tree.id);
  const listingFile = posix.join(path, 'kustomization.yaml');
  const other = files.get(posix.join(shared, listingFile));
  const isChanged = variables !== undefined || !isClear || nameless.length > 0;
  const isOwn = isChanged || differsFrom(other, listing);
  const root = isOwn ? `${folder}/source` : shared;
  const unused = new Set<string>();
  for (const [file, , clean] of cleaned) {
    for (const one of clean.unused) unused.add(posix.join(posix.dirname(file), one));
    for (const { subject, line, keys } of clean.leftOut)
      noteLeftOut(notes, { file: tree.shown(file), line }, { subject, keys, set });
    if (clean.mistake)
      noteMistake(notes, { ...clean.mistake.at, file: tree.shown(file) }, file, clean.mistake);
    else if (!survey.isLeftOut(file)) put(files, posix.join(root, file), clean.bytes);
  }
  for (const file of unused) files.delete(posix.join(root, file));
  if (listing !== undefined) put(files, posix.join(root, listingFile), listing);
  const at = posix.join(root, path);
  if (Object.keys(overlay).length === 0 && dropped.length === 0) return { path: at, type: 'kustomize' };
  const made = overlayFor(folder, at, overlay);
  const patches = [
    ...((made['patches'] as readonly unknown[] | undefined) ?? []),
    ...dropped.map(deletePatch),
  ];
  const outer = defined({
    apiVersion: 'kustomize.config.k8s.io/v1beta1',
    kind: 'Kustomization',
    resources: [posix.relative(folder, at)],
    ...made,
    patches: patches.length > 0 ? patches : undefined,
  });
  putClean(
    files,
    `${folder}/kustomization.yaml`,
    `# Fields that ${unit.id} lays over its folder.\n${writeObject(outer)}`,
    { unit, set, notes, beside: { path: OVERLAY, survey } },
  );
  return { path: folder, type: 'kustomize' };
};

/** Leaves out objects that only the tool reads: `group/Kind`, or `label:<selector>`. */
const deletePatch = (dropped: string): Manifest => {
  const [group = '', kind = ''] = dropped.split('/');
  const patch = (named: string): string =>
    `$patch: delete\napiVersion: v1\nkind: ${named}\nmetadata:\n  name: left-out\n`;
  if (dropped.startsWith('label:'))
    return { target: { labelSelector: dropped.slice('label:'.length) }, patch: patch('LeftOut') };
  return { target: { group, kind }, patch: patch(kind) };
};
