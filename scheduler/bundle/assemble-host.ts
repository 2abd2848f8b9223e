import {
  type HostCheck,
  type HostPackage,
  type HostUnit,
  parseHostPackage,
} from '#bundles/bundle/host-package';
import { canonicalBytes } from '#bundles/canonical';
import { digestOf } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { RenderedPackage } from '../platform/model.ts';
import type { Application } from './application.ts';
import { type AssembledPackage, assembled } from './assembled-package.ts';
import { checkHostPaths, type ResolvedFile } from './check-host-paths.ts';
import { checkSiteInputs } from './check-site-inputs.ts';
import {
  type HostCheckObject,
  type HostFileObject,
  type HostPackageObject,
  readHostPackages,
} from './host-package-object.ts';

/** Where a unit's own file goes. */
const UNIT_FOLDER = '/etc/systemd/system';

type Bytes = { readonly path: string; readonly bytes: Buffer };

/**
 * The package of a host: what the platform's templates rendered as HostPackage, what the application brings, and the
 * platform configuration at the file that asks for it; resolved to a package.json that an agent only has to carry out.
 * @throws FleetError YAML_SYNTAX, FIELD_INVALID, REFERENCE_MISSING, OBJECT_CLASH ... with file:line:column
 */
export const assembleHost = (rendered: RenderedPackage, application: Application): AssembledPackage => {
  const { target } = rendered.assignment;
  const own = [...application.files]
    .filter(([path]) => isYaml(path))
    .flatMap(([path, bytes]) => readHostPackages(`${application.shown}${path}`, bytes));
  const objects = [
    ...rendered.files
      .filter(isManifest)
      .flatMap(({ path, bytes }) => readHostPackages(`${target.name}/${path}`, bytes)),
    ...own,
  ];
  // What a template of the platform's brings is there for the application, and no application.
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
  const files = objects.flatMap((object) => filesOf(object, application, config, target.name));
  const directories = checkHostPaths(objects, files);
  const spec: HostPackage = {
    id: target.name,
    directories: directories.map(({ at: _, ...directory }) => directory),
    files: files.map(({ file }) => file),
    units: objects.flatMap((object) => object.units.map(toUnit)),
    checks: objects.flatMap((object) => object.checks.map(toCheck)),
    critical: [],
  };
  const inputs = objects.flatMap((object) => object.siteInputs);
  checkSiteInputs(inputs, files);
  const document = canonicalBytes(spec);
  checkReadable(document);
  return assembled({
    assignment: rendered.assignment,
    id: target.name,
    namespace: undefined,
    files: [{ path: 'package.json', bytes: document }, ...files.map(({ bytes }) => bytes)],
    siteInputs: inputs.map(({ name, at: _, ...field }) => ({ input: name, ...field })),
    owns: [...spec.files.map(({ path }) => path), ...spec.units.map(({ name }) => name)],
    images: [],
  });
};

const isYaml = (path: string): boolean => /\.ya?ml$/.test(path);
const isManifest = ({ path }: { readonly path: string }): boolean =>
  path === 'namespace.yaml' || path === 'reconciler.yaml';

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

const filesOf = (
  object: HostPackageObject,
  application: Application,
  config: Bytes | undefined,
  subject: string,
): readonly ResolvedFile[] => {
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
        format: undefined,
        at,
      }),
    );
  return [...object.files, ...units].map((file) => resolveFile(file, application, config, subject));
};

const resolveFile = (
  file: HostFileObject,
  application: Application,
  config: Bytes | undefined,
  subject: string,
): ResolvedFile => {
  const bytes = contentOf(file, application, config, subject);
  const content = `files${file.path}`;
  const { path, mode, owner, group, format } = file;
  return {
    file: {
      path,
      mode,
      owner,
      group,
      content,
      digest: digestOf(bytes),
      size: bytes.byteLength,
      ...(format && { format }),
    },
    bytes: { path: content, bytes },
    at: file.at,
  };
};

const contentOf = (
  file: HostFileObject,
  application: Application,
  config: Bytes | undefined,
  subject: string,
): Buffer => {
  if (file.content !== undefined) return Buffer.from(file.content);
  if (file.config) {
    if (config) return config.bytes;
    throw new FleetError(
      'REFERENCE_MISSING',
      `${file.path} wants the platform configuration, but none was rendered`,
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

const toCheck = ({
  name,
  type,
  unit,
  stableSeconds,
  argv,
  url,
  status,
  timeoutSeconds,
}: HostCheckObject): HostCheck => {
  switch (type) {
    case 'unit':
      return { type, name, unit: unit ?? '', stableSeconds };
    case 'exec':
      return { type, name, argv, timeoutSeconds };
    case 'http':
      return { type, name, url: url ?? '', status, timeoutSeconds };
  }
};
