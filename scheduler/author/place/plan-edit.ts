import { posix } from 'node:path';
import { FleetError } from '#bundles/errors';
import { didYouMean } from '#bundles/nearest-name';
import type { EditedFile } from '../../deliver/kalypso/promote-base.ts';
import { findKustomization } from '../../load/sources/kustomization-file.ts';
import type { Location } from '../../model/location.ts';
import { appendDocument, editObjects } from '../yaml/edit-document.ts';
import { listResource } from '../yaml/list-resource.ts';
import { setValue } from '../yaml/set-value.ts';
import { type ObjectValue, writeObject } from '../../model/yaml/write-object.ts';
import { chooseFile } from './choose-file.ts';
import type { Layer, WrittenObject } from './layer.ts';

/** Files of one layer to write. Nothing is written yet. */
export type PlannedEdit = {
  readonly layer: string;
  readonly location: Location;
  readonly files: readonly EditedFile[];
  /** 'ClusterType press', or the path of a file. */
  readonly subject: string;
  readonly outcome: 'created' | 'configured' | 'unchanged';
};

/** A new object, or fields of one that is there. */
export type ObjectEdit = {
  readonly kind: string;
  readonly name: string;
  /** Values by path: [['spec', 'offline'], true]. Undefined removes a field. An empty path is the whole object. */
  readonly set: readonly (readonly [path: readonly string[], value: unknown])[];
};

const OBJECT_NAME = /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/;

/** @throws FleetError USAGE for an unknown layer */
export const findLayer = (layers: readonly Layer[], name: string): Layer => {
  const found = layers.find((layer) => layer.name === name);
  if (found) return found;
  const names = layers.map((layer) => layer.name);
  throw new FleetError('USAGE', `the platform has no folder ${JSON.stringify(name)}`, {
    hint: `${didYouMean(name, names) ?? ''}It has ${names.join(', ')}`,
  });
};

export const findObject = (layer: Layer, kind: string, name: string): WrittenObject | undefined =>
  layer.objects.find((object) => object.kind === kind && object.name === name);

/**
 * A new object, in a file where the layer keeps its kind, and listed in the kustomization of a folder that has one.
 * @throws FleetError NAME_CLASH if the layer has it already, NAME_INVALID for a name that no object and so no file may have
 */
export const planNew = (layer: Layer, object: ObjectValue): PlannedEdit => {
  const kind = String(object['kind']);
  const name = String((object['metadata'] as { name?: unknown } | undefined)?.name);
  if (!OBJECT_NAME.test(name))
    throw new FleetError('NAME_INVALID', `${JSON.stringify(name.slice(0, 80))} is not an object name`, {
      subject: kind,
      hint: 'Use a-z, 0-9, - and dots, beginning and ending with a letter or digit',
    });
  const known = findObject(layer, kind, name);
  if (known)
    throw new FleetError('NAME_CLASH', `${layer.name} has a ${kind} ${name} already`, {
      subject: `${kind} ${name}`,
      at: known.at,
      hint: 'Choose another name, or edit that one',
    });
  const { path, kind: way } = chooseFile(layer, kind, name);
  const was = layer.files.find((file) => file.path === path)?.bytes;
  const text = writeObject(object);
  const bytes = Buffer.from(way === 'append' ? appendDocument(was?.toString() ?? '', text) : text);
  const files = [{ path, was, bytes }, ...(was ? [] : listed(layer, path))];
  return {
    layer: layer.name,
    location: layer.location,
    files,
    subject: `${kind} ${name}`,
    outcome: 'created',
  };
};

/** @throws FleetError REFERENCE_MISSING without the object; FIELD_INVALID for one that is an item of a List */
export const planChange = (layer: Layer, edit: ObjectEdit): PlannedEdit => {
  const { file } = writtenObject(layer, edit);
  return planned(layer, editFile(layer, file, [edit]), `${edit.kind} ${edit.name}`);
};

/** The same for several objects of a layer, which change: one edit for each file, which is read and written once. @throws FleetError as planChange */
export const planChanges = (layer: Layer, edits: readonly ObjectEdit[]): readonly PlannedEdit[] =>
  [...Map.groupBy(edits, (edit) => writtenObject(layer, edit).file)].flatMap(([path, own]) => {
    const file = editFile(layer, path, own);
    return own.map(({ kind, name }) => planned(layer, file, `${kind} ${name}`));
  });

const writtenObject = (layer: Layer, { kind, name }: ObjectEdit): WrittenObject => {
  const object = findObject(layer, kind, name);
  if (object) return object;
  const names = layer.objects.filter((one) => one.kind === kind).map((one) => one.name);
  throw new FleetError('REFERENCE_MISSING', `${layer.name} has no ${kind} ${name}`, {
    hint: `${didYouMean(name, names) ?? ''}${names.length === 0 ? 'It has none of this kind' : `It has ${names.join(', ')}`}`,
  });
};

const editFile = (layer: Layer, path: string, edits: readonly ObjectEdit[]): EditedFile => {
  const was = layer.files.find((file) => file.path === path)?.bytes as Buffer;
  const text = editObjects(
    was.toString(),
    edits.map((edit) => ({
      which: edit,
      at: writtenObject(layer, edit).at,
      change: (document) => {
        for (const [at, value] of edit.set) setValue(document, at, value);
      },
    })),
  );
  return { path, was, bytes: Buffer.from(text) };
};

/** The whole text of a file. @throws FleetError FIELD_INVALID for a path outside of the layer, or one that is no YAML file */
export const planText = (layer: Layer, path: string, text: string): PlannedEdit => {
  const clean = posix.normalize(path);
  const inside = layer.folder === '.' || clean.startsWith(`${layer.folder}/`);
  const was = layer.files.find((file) => file.path === clean)?.bytes;
  const isFlat = layer.name === 'root' && was === undefined;
  if (!inside || isFlat || clean !== path || clean.startsWith('../') || !/^[^/\0].*\.ya?ml$/.test(clean))
    throw new FleetError('FIELD_INVALID', `${JSON.stringify(path)} is not a YAML file of ${layer.name}`, {
      hint: `Choose a path below ${layer.folder}/ that ends with .yaml`,
    });
  const bytes = Buffer.from(text.endsWith('\n') || text === '' ? text : `${text}\n`);
  const edit = planned(layer, { path, was, bytes }, path);
  return was ? edit : { ...edit, files: [...edit.files, ...listed(layer, path)] };
};

const planned = (layer: Layer, file: EditedFile, subject: string): PlannedEdit => {
  const isSame = file.was?.equals(file.bytes) === true;
  const made = file.was ? 'configured' : 'created';
  return {
    layer: layer.name,
    location: layer.location,
    files: isSame ? [] : [file],
    subject,
    outcome: isSame ? 'unchanged' : made,
  };
};

/** In Kalypso's form a folder with a kustomization delivers only what that lists. */
const listed = (layer: Layer, path: string): readonly EditedFile[] => {
  if (layer.form !== 'kalypso') return [];
  const byPath = new Map(layer.files.map((file) => [file.path, file]));
  for (let folder = posix.dirname(path); ; folder = posix.dirname(folder)) {
    const file = findKustomization(byPath, folder);
    if (file !== undefined) {
      const was = byPath.get(file)?.bytes as Buffer;
      return [
        { path: file, was, bytes: Buffer.from(listResource(was.toString(), posix.relative(folder, path))) },
      ];
    }
    if (folder === '.' || folder === layer.folder) return [];
  }
};
