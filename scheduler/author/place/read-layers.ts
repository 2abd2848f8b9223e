import { posix } from 'node:path';
import { isScalar } from 'yaml';
import { isFleetError } from '#bundles/errors';
import { findRoot, type Root } from '../../load/load-platform.ts';
import { isPlatformConfigMap } from '../../load/objects/config-map.ts';
import { FLEET_GROUP } from '../../load/objects/fleet-kinds.ts';
import { KALYPSO_GROUP } from '../../load/objects/kalypso-kinds.ts';
import { ofKind } from '../../load/objects/platform-object.ts';
import { PLATFORM_OBJECT_HINT, readObjects } from '../../load/objects/read-objects.ts';
import { cleanPath, type Source, type Sources } from '../../load/sources/open-sources.ts';
import type { SourceFile } from '../../load/sources/read-files.ts';
import { type Location, refName } from '../../model/location.ts';
import { createProblems } from '../../model/problems.ts';
import { parseDocuments, type ParsedDocument, placeOf } from '../../model/yaml/parse-documents.ts';
import { childOf } from '../../model/yaml/shape.ts';
import type { Layer, WrittenObject } from './layer.ts';

/**
 * The folders of a platform in which objects are written, the shared ones first. Of a base repository that is pinned to a commit it is
 * its branch. Mistakes in objects are no errors here.
 * @throws FleetError PLATFORM_INVALID for a platform of neither form, SOURCE_UNREACHABLE, SOURCE_MISSING
 */
export const readLayers = async (platform: string, sources: Sources): Promise<readonly Layer[]> => {
  const root = await findRoot(platform, sources, createProblems());
  return root.form === 'fleet' ? await fleetLayers(root, sources) : await kalypsoLayers(root, sources);
};

const fleetLayers = async (
  { location, path, fleet }: Root & { readonly form: 'fleet' },
  sources: Sources,
): Promise<readonly Layer[]> => {
  const read = await readAll(sources, location, path);
  const layer = (
    name: string,
    folder: string,
    isIn: (file: string) => boolean,
    environment?: string,
  ): Layer => {
    const files = read.files.filter((file) => isIn(posix.relative(read.path, file.path)));
    const at = posix.join(read.path, folder);
    return { name, environment, form: 'fleet', location, folder: at, ...described(files, read.prefix) };
  };
  const below =
    (folder: string) =>
    (file: string): boolean =>
      file.startsWith(`${folder}/`);
  return [
    layer('root', '.', (file) => /^fleet\.ya?ml$/.test(file)),
    layer('base', 'base', below('base')),
    layer('promotion', 'promotion', below('promotion')),
    ...fleet.entries.map(({ name, promotedFrom }) => ({
      ...layer(`environments/${name}`, `environments/${name}`, below(`environments/${name}`), name),
      promotedFrom,
    })),
  ];
};

const kalypsoLayers = async (
  { location, path, kalypso }: Root & { readonly form: 'kalypso' },
  sources: Sources,
): Promise<readonly Layer[]> => {
  const top = await readAll(sources, location, path, 'none');
  // The files that the Environments are in; a new one goes beside them.
  const own = new Set(kalypso.environments.map(({ at }) => at.file.slice(kalypso.source.prefix.length)));
  const folder = posix.join(
    cleanPath(path),
    kalypso.source.prefix.endsWith('.environments/') ? '.environments' : '.',
  );
  const files = top.files.filter((file) => own.has(posix.relative(folder, file.path)));
  const layers: Layer[] = [
    {
      name: 'root',
      environment: undefined,
      form: 'kalypso',
      location,
      folder,
      ...described(files, top.prefix),
    },
  ];
  const bases = new Map<string, Layer>();
  const environments: Layer[] = [];
  for (const { name, controlPlane } of kalypso.environments.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const where = sources.locate(controlPlane.repo, controlPlane.revision);
    const read = await readAll(sources, where, controlPlane.path);
    environments.push({
      name: `environments/${name}`,
      environment: name,
      form: 'kalypso',
      location: where,
      folder: read.path,
      ...described(read.files, read.prefix),
    });
    for (const base of ofKind(readObjects({ ...read, files: read.files }, []), 'BaseRepo')) {
      const branch = refName(base.folder.revision);
      if (branch === undefined) continue;
      const at = sources.locate(base.folder.repo, { kind: 'branch', name: branch });
      const key = `${base.name} ${base.folder.repo} ${branch} ${base.folder.path}`;
      if (bases.has(key)) continue;
      const its = await readAll(sources, at, base.folder.path);
      bases.set(key, {
        name: `base/${base.name}`,
        environment: undefined,
        form: 'kalypso',
        location: at,
        folder: its.path,
        ...described(its.files, its.prefix),
      });
    }
  }
  return [...layers, ...bases.values(), ...environments];
};

type ReadFolder = Pick<Source, 'prefix'> & { readonly files: readonly SourceFile[]; readonly path: string };

/** All YAML below a folder, by path in the location. A folder that is not there is empty. */
const readAll = async (
  sources: Sources,
  location: Location,
  path: string,
  ignore: 'honour' | 'none' = 'honour',
): Promise<ReadFolder> => {
  const clean = cleanPath(path);
  try {
    const { files, prefix } = await sources.read({ role: 'platform', location, path, ignore });
    const inside = clean === '.' ? '' : `${clean}/`;
    return {
      path: clean,
      prefix: prefix.slice(0, prefix.length - inside.length),
      files: files.map((file) => ({ ...file, path: `${inside}${file.path}` })),
    };
  } catch (error) {
    if (!isFleetError(error, 'SOURCE_MISSING') || location.kind === 'git') throw error;
    return { path: clean, prefix: '', files: [] };
  }
};

const described = (
  files: readonly SourceFile[],
  prefix: string,
): Pick<Layer, 'files' | 'prefix' | 'objects'> => ({
  files,
  prefix,
  objects: files.flatMap((file) => writtenIn(file, prefix)),
});

/** Objects of a platform in a file. */
const writtenIn = ({ path, bytes }: SourceFile, prefix: string): readonly WrittenObject[] => {
  if (!PLATFORM_OBJECT_HINT.test(bytes.toString('latin1'))) return [];
  return parseDocuments(`${prefix}${path}`, bytes, []).flatMap((parsed) => {
    const [apiVersion, kind] = [textOf(parsed, 'apiVersion'), textOf(parsed, 'kind')];
    const name = parsed.document.getIn(['metadata', 'name']);
    if (apiVersion === undefined || kind === undefined || typeof name !== 'string') return [];
    const isOurs = [FLEET_GROUP, KALYPSO_GROUP].some((group) => apiVersion.startsWith(`${group}/`));
    if (!isOurs && !(kind === 'ConfigMap' && isPlatformConfigMap(parsed))) return [];
    return [{ apiVersion, kind, name, file: path, at: placeOf(parsed.text, parsed.root) }];
  });
};

const textOf = (parsed: ParsedDocument, key: string): string | undefined => {
  const node = childOf(parsed.root, key);
  return isScalar(node) && typeof node.value === 'string' ? node.value : undefined;
};
