import { defined } from '#bundles/defined';
import { compareBytes, digestOf } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { hostSpans } from '#bundles/formats/bounds/host-violations';
import { secondsOf } from '#bundles/formats/bounds/package-seconds';
import {
  BLOBS_CRITICAL,
  DEBS_CRITICAL,
  type HostCheck,
  type HostPackage,
  type HostProbe,
  type HostUnit,
  IMAGES_CRITICAL,
  PLAYBOOKS_CRITICAL,
  PROBES_CRITICAL,
  RAUC_CRITICAL,
  parseHostPackage,
  SECRETS_CRITICAL,
} from '#bundles/formats/bundle/host-package';
import { canonicalBytes } from '#bundles/json/canonical';
import type { Application } from '../../../load/applications/application.ts';
import { describedSchema } from '../../../model/site-input.ts';
import type { ClusterType, RenderedFile, RenderedPackage } from '../../../model/model.ts';
import { checkHostPaths, type ResolvedFile } from '../../content/check-host-paths.ts';
import type { Content } from '../../content/content.ts';
import type { ContentAccess } from '../../content/content-access.ts';
import type {
  HostCheckObject,
  HostFileObject,
  HostPackageObject,
} from '../../content/host-package-object.ts';
import { hostPackagesOf } from '../../content/host-packages.ts';
import { memoryContent } from '../../content/memory-content.ts';
import { placeContents } from '../../content/place-contents.ts';
import { placeRauc } from '../../content/place-rauc.ts';
import { placePlaybooks } from '../../content/playbooks/place-playbooks.ts';
import { type PinQuadlet, pinQuadlet, refusePulls } from '../../content/quadlets/pin-quadlet.ts';
import { pinImage } from '../../images/pin-image.ts';
import { type AssembledPackage, assembled } from '../assembled-package.ts';
import { checkSiteInputs } from '../check-site-inputs.ts';
import { hostOwns } from '../package-owns.ts';
import { adviseUnits } from './advise-units.ts';
import { checkHostBounds, hostBoundsOf, UNIT_FOLDER } from './host-bounds.ts';
import { checkSiteValues } from '../check-site-values.ts';
import { resolveInstall } from './host-install.ts';
import { resolveSecret } from './host-secrets.ts';

/**
 * Assembles the package of a host: the HostPackages of the platform's templates and of the application, and the platform
 * configuration in the file that requests it, resolved to a package.json.
 * @throws FleetError YAML_SYNTAX, FIELD_INVALID, REFERENCE_MISSING, OBJECT_CLASH, OUT_OF_BOUNDS ... with file:line:column
 */
export const assembleHost = async (
  rendered: RenderedPackage,
  application: Application,
  access: ContentAccess,
): Promise<AssembledPackage> => {
  const { target, clusterType } = rendered.assignment;
  const { all: objects, own, platform } = hostPackagesOf(rendered, application);
  // The platform's templates support an application; they are not a package of their own.
  if (own.length === 0) {
    throw new FleetError(
      'REFERENCE_MISSING',
      `deployment target ${target.name} runs on a host but ${application.shown} has no HostPackage`,
      {
        subject: target.name,
        at: target.at,
        hint: 'Write a package.yaml of kind HostPackage there',
      },
    );
  }
  const config = rendered.files.find(({ path }) => path.startsWith('platform-config.'));
  const pinned = new Set<string>();
  const pin: PinQuadlet = (image, at) => {
    const name = pinImage(image, access.imageLocks, at);
    pinned.add(name);
    return name;
  };
  const resolved = await Promise.all(
    objects
      .flatMap((object) => filesOf(object))
      .map((file) =>
        resolveFile(file, { application, config, clusterType, subject: target.name, access, pin }),
      ),
  );
  const images = [...pinned].toSorted(compareBytes);
  const placing = { application, access, clusterType, id: target.name };
  const placed = await placeContents(objects, placing);
  const rauc = await placeRauc(objects, placing);
  const playbooksOf = (object: HostPackageObject) => placePlaybooks(object, rendered, application, placed);
  const playbooks = objects.flatMap(playbooksOf);
  const files = [...resolved, ...placed, ...playbooks.flatMap((it) => it.files)];
  const contents = [...contentsOf(files), ...(rauc ? [rauc.content] : [])];
  const secrets = objects.flatMap((object) => object.secrets.map((one) => resolveSecret(one, application)));
  const directories = checkHostPaths(objects, files);
  const install = resolveInstall(objects, files, { id: target.name, platforms: clusterType.platforms });
  const checks = objects.flatMap((object) => object.checks.map(toCheck));
  const probes = checks.filter(isProbe);
  const spec: HostPackage = defined({
    id: target.name,
    directories: directories.map(({ at: _, ...directory }) => directory),
    files: files.map(({ file }) => file),
    secrets: secrets.length > 0 ? secrets.map(({ secret }) => secret) : undefined,
    units: objects.flatMap((object) => object.units.map(toUnit)),
    playbooks: playbooks.length > 0 ? playbooks.map(({ playbook }) => playbook) : undefined,
    checks: checks.filter((check) => !isProbe(check)),
    probes: probes.length > 0 ? probes : undefined,
    install: install?.install,
    rauc: rauc?.rauc,
    images: images.length > 0 ? images : undefined,
    critical: [
      ...(contents.length > 0 ? [BLOBS_CRITICAL] : []),
      ...(playbooks.length > 0 ? [PLAYBOOKS_CRITICAL] : []),
      ...(images.length > 0 ? [IMAGES_CRITICAL] : []),
      ...(install ? [DEBS_CRITICAL] : []),
      ...(probes.length > 0 ? [PROBES_CRITICAL] : []),
      ...(secrets.length > 0 ? [SECRETS_CRITICAL] : []),
      ...(rauc ? [RAUC_CRITICAL] : []),
    ],
  });
  const fields = objects.flatMap((object) => object.siteInputs);
  await checkSiteInputs(fields, playbooks, files, access.signal);
  const inputs = [...fields, ...playbooks.flatMap(({ siteInputs }) => siteInputs)];
  const read = [
    ...own.flatMap((object) => object.siteInputs),
    ...own.flatMap(playbooksOf).flatMap(({ siteInputs }) => siteInputs),
  ];
  checkSiteValues(read, target);
  const bounds = hostBoundsOf(
    target,
    platform,
    platform.flatMap(playbooksOf),
    inputs.map(({ name }) => name),
  );
  const places = {
    directories,
    files,
    secrets: objects.flatMap((object) => object.secrets),
    units: objects.flatMap((object) => object.units),
    playbooks,
    checks: objects.flatMap((object) => object.checks.filter((check) => !isProbe(check))),
    probes: objects.flatMap((object) => object.checks.filter(isProbe)),
    install: install ? [install] : [],
    rauc: rauc ? [rauc] : [],
  };
  checkHostBounds(spec, target, bounds, { places, files });
  const bytes = new Map(files.map((it) => [it.file.path, it.bytes?.bytes]));
  const document = canonicalBytes(spec);
  checkReadable(document);
  return assembled({
    assignment: rendered.assignment,
    id: target.name,
    namespace: undefined,
    files: [
      { path: 'package.json', bytes: document },
      ...files.flatMap(({ bytes }) => bytes ?? []),
      ...secrets.flatMap(({ bytes }) => bytes ?? []),
    ],
    siteInputs: inputs.map((input) => ({
      input: input.name,
      file: input.file,
      pointer: input.pointer,
      schema: describedSchema(input),
    })),
    owns: hostOwns(spec),
    images,
    suspects: adviseUnits(spec, objects, (path) => bytes.get(path)),
    ...defined({ contents: contents.length > 0 ? contents : undefined }),
    bounds,
    ...(bounds && {
      seconds: secondsOf(hostSpans(spec, bounds, ({ path }) => bytes.get(path))),
      reads: read.map(({ name }) => name),
    }),
  });
};

const contentsOf = (files: readonly ResolvedFile[]): readonly Content[] =>
  files.flatMap(({ content }) => content ?? []);

/** @throws FleetError FIELD_INVALID: an agent would refuse the whole bundle for it */
const checkReadable = (document: Buffer): void => {
  try {
    parseHostPackage(document);
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    throw new FleetError('FIELD_INVALID', `no agent would take this package: ${error.message}`, {
      cause: error,
    });
  }
};

/** Its own files, and those of its units. */
const filesOf = (object: HostPackageObject): readonly HostFileObject[] => {
  const units = object.units
    .filter((unit) => unit.source !== undefined || unit.content !== undefined)
    .map(
      ({ name, source, content, at }): HostFileObject => ({
        path: `${UNIT_FOLDER}/${name}`,
        mode: '0644',
        owner: 'root',
        group: 'root',
        source,
        content,
        config: false,
        url: undefined,
        sha256: undefined,
        format: undefined,
        at,
      }),
    );
  return [...object.files, ...units];
};

/** Larger files of an application become blobs of their own, so that a change elsewhere does not transfer them again. */
const MAX_IN_LAYER = 1 << 20;

type Resolving = {
  readonly application: Application;
  readonly config: RenderedFile | undefined;
  readonly clusterType: ClusterType;
  readonly subject: string;
  readonly access: ContentAccess;
  readonly pin: PinQuadlet;
};

const resolveFile = async (
  file: HostFileObject,
  { application, config, clusterType, subject, access, pin }: Resolving,
): Promise<ResolvedFile> => {
  const { path, mode, owner, group, format, url, sha256, at } = file;
  const owned = { path, mode, owner, group };
  const asBlob = (content: Content): ResolvedFile => ({
    file: { ...owned, digest: content.digest, size: content.size, blob: true },
    content,
    at,
  });
  if (url !== undefined) return asBlob(await access.get({ url, sha256, at }));
  const written = contentOf(file, application, config, subject);
  if (clusterType.offline) refusePulls(file, application, written);
  const bytes = pinQuadlet(file, application, written, pin);
  if (bytes.byteLength > MAX_IN_LAYER && !format) return asBlob(memoryContent(bytes, path));
  const content = `files${path}`;
  return {
    file: {
      ...owned,
      content,
      digest: digestOf(bytes),
      size: bytes.byteLength,
      ...defined({ format: format || undefined }),
    },
    bytes: { path: content, bytes },
    at,
  };
};

const contentOf = (
  file: HostFileObject,
  application: Application,
  config: RenderedFile | undefined,
  subject: string,
): Buffer => {
  if (file.content !== undefined) return Buffer.from(file.content);
  if (file.config) {
    if (config) return Buffer.from(config.text);
    throw new FleetError(
      'REFERENCE_MISSING',
      `${file.path} needs the platform configuration, but none was rendered`,
      {
        subject,
        at: file.at,
        hint: 'Give the cluster type a configType such as env-file',
      },
    );
  }
  const bytes = application.files.get(file.source ?? '');
  if (bytes) return bytes;
  throw new FleetError('REFERENCE_MISSING', `there is no file ${file.source} in ${application.shown}`, {
    subject,
    at: file.at,
  });
};

const toUnit = ({ name, enabled, active, restartOn }: HostPackageObject['units'][number]): HostUnit => ({
  name,
  enabled,
  active,
  restartOn,
});

const isProbe = <T extends { readonly type: HostCheck['type'] }>(
  check: T,
): check is Extract<T, { readonly type: HostProbe['type'] }> => LIST[check.type] === 'probes';

/** The list of package.json that a check is in. */
const LIST: Readonly<Record<HostCheck['type'], 'checks' | 'probes'>> = {
  unit: 'checks',
  exec: 'checks',
  http: 'checks',
  tcp: 'probes',
  file: 'probes',
};

/** '[::1]:80' has the host '::1'. */
const hostAndPort = (address: string): { readonly host: string; readonly port: number } => {
  const at = address.lastIndexOf(':');
  return { host: address.slice(0, at).replace(/^\[(.*)\]$/, '$1'), port: Number(address.slice(at + 1)) };
};

const toCheck = ({
  name,
  type,
  unit,
  stableSeconds,
  argv,
  url,
  status,
  address,
  path,
  maxAgeSeconds,
  timeoutSeconds,
}: HostCheckObject): HostCheck => {
  switch (type) {
    case 'unit':
      return { type, name, unit: unit ?? '', stableSeconds };
    case 'exec':
      return { type, name, argv, timeoutSeconds };
    case 'http':
      return { type, name, url: url ?? '', status, timeoutSeconds };
    case 'tcp':
      return { type, name, ...hostAndPort(address ?? ''), timeoutSeconds };
    case 'file':
      return { type, name, path: path ?? '', maxAgeSeconds, timeoutSeconds };
  }
};
