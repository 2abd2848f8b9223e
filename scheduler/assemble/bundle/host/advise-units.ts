import { FleetError } from '#bundles/errors';
import { parseUnit, type UnitSetting } from '#bundles/formats/bounds/parse-unit';
import type { HostPackage } from '#bundles/formats/bundle/host-package';
import type { HostPackageObject } from '../../content/host-package-object.ts';
import { UNIT_FOLDER } from './host-bounds.ts';

/**
 * Advice about the units that the package lists and brings: what they read when they start and are not restarted for, and what systemd would
 * not let the agent do with them.
 * @param bytesOf bytes of a file of the package by its path
 */
export const adviseUnits = (
  { files, secrets = [] }: Pick<HostPackage, 'files' | 'secrets'>,
  objects: readonly HostPackageObject[],
  bytesOf: (path: string) => Buffer | undefined,
): readonly FleetError[] => {
  const known = new Set([...files, ...secrets].map(({ path }) => path));
  return objects
    .flatMap(({ units }) => units)
    .flatMap((unit) => {
      const settings = settingsOf(unit.name, [...known], bytesOf);
      return [...adviseUnstoppable(unit, settings), ...adviseUnwatched(unit, settings, known)];
    });
};

type ListedUnit = HostPackageObject['units'][number];

/** Values of a boolean that are true (systemd.syntax(7)). */
const TRUE = /^(?:1|yes|y|true|t|on)$/i;

/** A unit that refuses manual stops is started once, and no later release could change or remove it. */
const adviseUnstoppable = (
  { name, at }: ListedUnit,
  settings: readonly UnitSetting[],
): readonly FleetError[] =>
  settings
    .filter((one) => /^RefuseManual(?:Start|Stop)$/.test(one.name) && TRUE.test(one.value))
    .map(
      (one) =>
        new FleetError(
          'FIELD_INVALID',
          `${name} has ${one.name}=, so the agent could not start, restart or remove it`,
          {
            at,
            hint: 'Leave the setting out, or leave the unit out of units',
          },
        ),
    );

/**
 * Files and secrets of the package that a service reads when systemd starts it, and whose change does not restart it: a release with a new
 * value would be healthy while the service has the old one. A one-shot that does not stay active reads anew in each run.
 */
const adviseUnwatched = (
  { name, active, restartOn, at }: ListedUnit,
  settings: readonly UnitSetting[],
  known: ReadonlySet<string>,
): readonly FleetError[] => {
  const isOneShot = settings.some((one) => one.name === 'Type' && one.value === 'oneshot');
  const stays = settings.some((one) => one.name === 'RemainAfterExit' && TRUE.test(one.value));
  if (!active || (isOneShot && !stays)) return [];
  const paths = new Set(settings.flatMap(readAtStart).filter((path) => known.has(path)));
  return [...paths.difference(new Set(restartOn))].map(
    (path) =>
      new FleetError(
        'REFERENCE_MISSING',
        `${name} reads ${path} at its start, and a change of it does not restart it`,
        { at, hint: `Add ${path} to restartOn, unless the service notices changes` },
      ),
  );
};

/** Settings of the unit's file and drop-ins in the package; none of a file with another syntax. */
const settingsOf = (
  name: string,
  paths: readonly string[],
  bytesOf: (path: string) => Buffer | undefined,
): readonly UnitSetting[] => {
  const file = `${UNIT_FOLDER}/${name.replace(/@.*(?=\.[a-z]+$)/, '@')}`;
  const own = paths.filter(
    (path) => path === file || (path.startsWith(`${UNIT_FOLDER}/${name}.d/`) && path.endsWith('.conf')),
  );
  return own.flatMap((path) => {
    const parsed = parseUnit(bytesOf(path) ?? Buffer.alloc(0));
    return typeof parsed === 'string' ? [] : parsed;
  });
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
