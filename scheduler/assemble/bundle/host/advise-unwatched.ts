import { FleetError } from '#bundles/errors';
import { parseUnit, type UnitSetting } from '#bundles/formats/bounds/parse-unit';
import type { HostPackage } from '#bundles/formats/bundle/host-package';
import type { HostPackageObject } from '../../content/host-package-object.ts';
import { UNIT_FOLDER } from './host-bounds.ts';

/**
 * Advice about files and secrets of the package that a service reads when systemd starts it, and whose change does not restart it: a release
 * with a new value would be healthy while the service has the old one.
 * @param bytesOf bytes of a file of the package by its path
 */
export const adviseUnwatched = (
  { files, secrets = [] }: Pick<HostPackage, 'files' | 'secrets'>,
  objects: readonly HostPackageObject[],
  bytesOf: (path: string) => Buffer | undefined,
): readonly FleetError[] => {
  const known = new Set([...files, ...secrets].map(({ path }) => path));
  return objects
    .flatMap(({ units }) => units)
    .flatMap(({ name, active, restartOn, at }) => {
      if (!active || !name.endsWith('.service')) return [];
      const paths = new Set(
        settingsOf(name, [...known], bytesOf)
          .flatMap(readAtStart)
          .filter((path) => known.has(path)),
      );
      return [...paths.difference(new Set(restartOn))].map(
        (path) =>
          new FleetError(
            'REFERENCE_MISSING',
            `${name} reads ${path} at its start, and a change of it does not restart it`,
            {
              at,
              hint: `Add ${path} to restartOn, unless the service notices changes`,
            },
          ),
      );
    });
};

/** Settings of the unit's file and drop-ins in the package; none of a one-shot, which reads anew in each run, or of a file with another syntax. */
const settingsOf = (
  name: string,
  paths: readonly string[],
  bytesOf: (path: string) => Buffer | undefined,
): readonly UnitSetting[] => {
  const file = `${UNIT_FOLDER}/${name.replace(/@.*(?=\.service$)/, '@')}`;
  const own = paths.filter(
    (path) => path === file || (path.startsWith(`${UNIT_FOLDER}/${name}.d/`) && path.endsWith('.conf')),
  );
  const settings = own.flatMap((path) => {
    const parsed = parseUnit(bytesOf(path) ?? Buffer.alloc(0));
    return typeof parsed === 'string' ? [] : parsed;
  });
  return settings.some((one) => one.name === 'Type' && one.value === 'oneshot') ? [] : settings;
};

/** Paths that systemd, or the kernel for it, reads for a start (systemd.exec(5), systemd.service(5)). */
const readAtStart = ({ section, name, value }: UnitSetting): readonly string[] => {
  if (section !== 'Service') return [];
  switch (name) {
    case 'EnvironmentFile':
      return [value.replace(/^-/, '')];
    case 'LoadCredential':
    case 'LoadCredentialEncrypted':
      return [value.slice(value.indexOf(':') + 1)];
    case 'ExecStart':
      return value.replace(/^[-@:+!|]+/, '').split(/\s+/);
    default:
      return [];
  }
};
