import type { HostCheck, HostFile, HostPackage, HostUnit } from '#bundles/bundle/host-package';
import { canonicalBytes } from '#bundles/canonical';
import { digestOf } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { RenderedPackage } from '../platform/model.ts';
import type { Application } from './application.ts';
import { type AssembledPackage, assembled } from './assembled-package.ts';
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
  const objects = [
    ...rendered.files
      .filter(isManifest)
      .flatMap(({ path, bytes }) => readHostPackages(`${target.name}/${path}`, bytes)),
    ...[...application.files]
      .filter(([path]) => isYaml(path))
      .flatMap(([path, bytes]) => readHostPackages(`${application.shown}${path}`, bytes)),
  ];
  if (objects.length === 0) {
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
  checkClashes(
    files.map(({ file }) => file.path),
    target.name,
  );
  const spec: HostPackage = {
    id: target.name,
    directories: objects.flatMap((object) => object.directories),
    files: files.map(({ file }) => file),
    units: objects.flatMap((object) => object.units.map(toUnit)),
    checks: objects.flatMap((object) => object.checks.map(toCheck)),
    critical: [],
  };
  checkSiteInputs(objects, spec, target.name);
  return assembled({
    assignment: rendered.assignment,
    id: target.name,
    namespace: undefined,
    files: [{ path: 'package.json', bytes: canonicalBytes(spec) }, ...files.map(({ bytes }) => bytes)],
    siteInputs: objects.flatMap((object) =>
      object.siteInputs.map(({ name, ...field }) => ({ input: name, ...field })),
    ),
    owns: [...spec.files.map(({ path }) => path), ...spec.units.map(({ name }) => name)],
    images: [],
  });
};

const isYaml = (path: string): boolean => /\.ya?ml$/.test(path);
const isManifest = ({ path }: { readonly path: string }): boolean =>
  path === 'namespace.yaml' || path === 'reconciler.yaml';

type ResolvedFile = { readonly file: HostFile; readonly bytes: Bytes };

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

const checkClashes = (paths: readonly string[], subject: string): void => {
  const twice = paths.find((path, at) => paths.indexOf(path) !== at);
  if (twice)
    throw new FleetError('OBJECT_CLASH', `${twice} is written by two parts of the package`, { subject });
};

const checkSiteInputs = (objects: readonly HostPackageObject[], spec: HostPackage, subject: string): void => {
  for (const { name, file } of objects.flatMap((object) => object.siteInputs)) {
    const found = spec.files.find(({ path }) => path === file);
    if (found?.format) continue;
    throw new FleetError(
      'REFERENCE_MISSING',
      `site input ${name} goes to ${file}, which ${found ? 'has no format' : 'is no file of the package'}`,
      {
        subject,
        hint: 'Name a file of the package with format: env or json',
      },
    );
  }
};
