import { stringify } from 'yaml';
import { digestOf } from '#bundles/digest';
import { FleetError, type Place, toFleetError } from '#bundles/errors';
import type { Application } from '../../load/applications/application.ts';
import type { ResolvedFile } from './check-host-paths.ts';
import {
  type ChartObject,
  type ContentObject,
  chartFile,
  type HostContentsObject,
} from './host-content-object.ts';
import type { HostPackageObject } from './host-package-object.ts';
import { withPlace } from '../../model/with-place.ts';
import { aptRepository } from './debs/apt-repository.ts';
import { checkRole } from './playbooks/check-role.ts';
import type { Content } from './content.ts';
import type { ContentAccess } from './content-access.ts';
import type { ClusterType } from '../../model/model.ts';
import { withLockedDebs } from './debs/locked-debs.ts';
import { memoryContent } from './memory-content.ts';
import { readCollection } from './playbooks/read-collection.ts';
import { readDeb } from './debs/read-deb.ts';

/** Contents to place, and their sources. */
export type Placing = {
  readonly application: Application;
  readonly access: ContentAccess;
  readonly clusterType: ClusterType;
  /** Name of the deployment target, for folders and messages. */
  readonly id: string;
};

/** Default folders of contents on a host, separate for each package. */
const HOME = '/var/lib/fleet-ferry';

/** The default folder of a package's contents of a kind. */
export const contentHome = (kind: keyof HostContentsObject['folders'], id: string): string =>
  `${HOME}/${kind}/${id}`;

/**
 * Returns the files of a package's contents on a host: an apt repository, tarballs with a requirements.yml for ansible-galaxy,
 * charts. External content becomes blobs; generated index files are in the layer of the package.
 * @throws FleetError the error of fetching or reading a content, with the place that names it; OBJECT_CLASH
 */
export const placeContents = async (
  objects: readonly HostPackageObject[],
  placing: Placing,
): Promise<readonly ResolvedFile[]> => {
  const { id } = placing;
  const parts = (kind: keyof HostContentsObject['folders']) =>
    Map.groupBy(objects, ({ folders }) => folders[kind] ?? contentHome(kind, id));
  const files: ResolvedFile[] = [];
  for (const [folder, of] of parts('apt'))
    files.push(
      ...(await placeDebs(
        folder,
        withLockedDebs(
          of.flatMap(({ debs }) => debs),
          placing.clusterType,
          placing.access.locks,
        ),
        placing,
      )),
    );
  for (const [folder, of] of parts('ansible')) {
    files.push(...(await placeAnsible(folder, of, placing)));
  }
  for (const [folder, of] of parts('charts'))
    for (const chart of of.flatMap(({ charts }) => charts))
      files.push(await placeChart(folder, chart, placing));
  return files;
};

const placeDebs = async (
  folder: string,
  objects: readonly ContentObject[],
  placing: Placing,
): Promise<readonly ResolvedFile[]> => {
  const [first] = objects;
  if (!first) return [];
  const { access, id } = placing;
  const debs = [];
  for (const object of objects) {
    const content = await contentOf(object, placing);
    const control = await explained(object, 'Debian package', () =>
      readDeb(content, access.unxz(id), access.signal),
    );
    debs.push({ content, control, at: object.at });
  }
  const repository = aptRepository(debs, id);
  return [
    ...repository.debs.map(({ file, content, control, at }) => ({
      ...blobFile(`${folder}/${file}`, content, at),
      deb: { name: control.package, version: control.version, architecture: control.architecture },
    })),
    writtenFile(`${folder}/Packages`, repository.packages, first.at),
    writtenFile(`${folder}/Release`, repository.release, first.at),
  ];
};

const placeAnsible = async (
  folder: string,
  objects: readonly HostPackageObject[],
  placing: Placing,
): Promise<readonly ResolvedFile[]> => {
  const collections = objects.flatMap((object) => object.collections);
  const roles = objects.flatMap((object) =>
    object.roles.map((role) => ({ role, isRun: object.playbooks.length > 0 })),
  );
  const at = (collections[0] ?? roles[0]?.role)?.at;
  if (!at) return [];
  const files: ResolvedFile[] = [];
  for (const object of collections) {
    const content = await contentOf(object, placing);
    const { namespace, name, version } = await explained(object, 'Ansible collection', () =>
      readCollection(content, placing.access.signal),
    );
    files.push(blobFile(`${folder}/collections/${namespace}-${name}-${version}.tar.gz`, content, object.at));
  }
  const requirements = {
    collections: files.map(({ file }) => ({ name: file.path, type: 'file' })),
    roles: roles.map(({ role: { name } }) => ({ name, src: `file://${folder}/roles/${name}.tar.gz` })),
  };
  for (const { role, isRun } of roles) {
    const content = await contentOf(role, placing);
    if (isRun) await explained(role, 'Ansible role', () => checkRole(content, placing.access.signal));
    files.push(blobFile(`${folder}/roles/${role.name}.tar.gz`, content, role.at));
  }
  return [...files, writtenFile(`${folder}/requirements.yml`, Buffer.from(stringify(requirements)), at)];
};

const placeChart = async (folder: string, chart: ChartObject, placing: Placing): Promise<ResolvedFile> => {
  const file = chartFile(chart) ?? 'chart.tgz';
  const { chart: name, version } = chart;
  const content =
    name === undefined || version === undefined
      ? await contentOf(chart, placing)
      : await fetchChart(chart, { chart: name, version }, placing);
  return blobFile(`${folder}/${file}`, content, chart.at);
};

const fetchChart = async (
  { at }: ChartObject,
  reference: { readonly chart: string; readonly version: string },
  { access }: Placing,
): Promise<Content> => {
  try {
    return await access.chart(reference);
  } catch (error) {
    throw withPlace(toFleetError(error, `fetching the chart ${reference.chart}`), at);
  }
};

/** Returns the bytes that an object names, from a URL or the application. @throws FleetError REFERENCE_MISSING; as ContentAccess.get */
export const contentOf = async (
  { url, sha256, source, at }: ContentObject,
  { application, access, id }: Placing,
): Promise<Content> => {
  if (url !== undefined) return await access.get({ url, sha256, at });
  const bytes = application.files.get(source ?? '');
  if (bytes) return memoryContent(bytes, `${application.shown}${source}`);
  throw new FleetError('REFERENCE_MISSING', `there is no file ${source} in ${application.shown}`, {
    subject: id,
    at,
  });
};

const explained = async <T>(
  { url, source, at }: ContentObject,
  what: string,
  read: () => Promise<T>,
): Promise<T> => {
  try {
    return await read();
  } catch (error) {
    const known = toFleetError(error, `reading ${url ?? source}`);
    if (known.code !== 'CONTENT_INVALID') throw withPlace(known, at);
    throw new FleetError('CONTENT_INVALID', `${url ?? source} is not a usable ${what}: ${known.message}`, {
      at,
      hint: `Look at what is there; it should be a file as its publisher offers it, not a page about it`,
      cause: known,
    });
  }
};

/** Readable for all users of the host: apt reads it as the user _apt. */
const OPEN = { mode: '0644', owner: 'root', group: 'root' } as const;

/** A file whose bytes travel as a blob of the closure. */
const blobFile = (path: string, content: Content, at: Place): ResolvedFile => ({
  file: { path, ...OPEN, digest: content.digest, size: content.size, blob: true },
  content,
  at,
});

const writtenFile = (path: string, bytes: Buffer, at: Place): ResolvedFile => {
  const content = `files${path}`;
  return {
    file: { path, ...OPEN, content, digest: digestOf(bytes), size: bytes.byteLength },
    bytes: { path: content, bytes },
    at,
  };
};
