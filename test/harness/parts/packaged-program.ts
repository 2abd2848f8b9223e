import { join } from 'node:path';
import { FleetError, toFleetError } from '../../../bundles/errors.ts';
import { isProgram } from '../run/find-program.ts';
import { runOrFail } from '../run/run-command.ts';
import { buildVersion, newestVersion } from './cache-folder.ts';
import { unpackDebianPackage } from './debian-package.ts';
import { goInstall } from './go-install.ts';
import { orExplain } from './or-explain.ts';
import type { Machine, Part } from './part.ts';

export type PackagedProgram = Pick<Part, 'title' | 'variable'> & {
  /** The Debian package. */
  readonly name: string;
  /** Its folder in the cache, where another part is a version of the same package. */
  readonly folder?: string;
  /** The program in it, where it is not called like the package. */
  readonly program?: string;
  readonly suite: 'bookworm' | 'trixie' | 'sid';
  /** Arguments that make it say its version: proof that it runs here. */
  readonly proof: readonly string[];
  /** Where Debian does not have it: the same program from the Go module proxy. */
  readonly go?: { readonly path: string; readonly version: string };
};

/** A program of one file from a Debian package, else built from its Go module; kept in the cache by version. */
export const packagedProgram = (program: PackagedProgram): Part => {
  const { program: called = program.name } = program;
  const places = [`usr/bin/${called}`, `bin/${called}`];
  const family = (machine: Machine): string => join(machine.cache, program.folder ?? program.name);

  const unpack = (machine: Machine) => async (temporary: string) => {
    const version = await unpackDebianPackage(program.name, program.suite, temporary, machine);
    await prove(temporary);
    return version;
  };
  const build = (machine: Machine, go: { path: string; version: string }) => async (temporary: string) => {
    await goInstall(`${go.path}@${go.version}`, temporary, machine);
    await prove(temporary);
    return `go-${go.version}`;
  };
  const prove = async (folder: string): Promise<void> => {
    const path = places.map((place) => join(folder, place)).find(isProgram);
    if (path === undefined) throw new FleetError('TOOL_MISSING', `The package has no ${called} in it.`);
    await runOrFail([path, ...program.proof]);
  };
  const find = (machine: Machine): string | undefined => newestVersion(family(machine), places);

  const fromDebian = (machine: Machine) =>
    orExplain(`Debian ${program.suite}'s package '${program.name}' cannot be used`, () =>
      buildVersion(family(machine), unpack(machine)),
    );
  const fromGo = (machine: Machine, go: { path: string; version: string }) =>
    orExplain(`Go could not build ${go.path}@${go.version}`, () =>
      buildVersion(family(machine), build(machine, go)),
    );

  const install = async (machine: Machine): Promise<string> => {
    const { go } = program;
    await fromDebian(machine).catch(async (first: unknown) => {
      if (go === undefined) throw first;
      await orExplain(toFleetError(first).message, () => fromGo(machine, go));
    });
    const path = find(machine);
    if (path === undefined)
      throw new FleetError('INTERNAL', `${program.name} was installed but is not found.`);
    return path;
  };
  const source = `the package of Debian ${program.suite}, unpacked into the cache`;
  return { title: program.title, variable: program.variable, source, find, install };
};
