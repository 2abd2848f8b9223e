import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FleetError } from '#bundles/errors';
import { VERSION } from '#bundles/version';
import { type Component, OWN_LICENCE, type Sbom, SBOM, sbomOf, sbomText } from './sbom.ts';

/**
 * The list of everything in an artifact: of its built programs, whose lists lie in their folders, and of what was packed beside them.
 * @param folders of built programs; the hub's page below one has a list of its own
 * @throws FleetError IO if a program has no list
 */
export const artifactSbom = async (
  name: string,
  folders: readonly string[],
  more: readonly Component[] = [],
): Promise<string> => {
  const lists = await Promise.all(folders.map(listsBelow));
  const components = lists.flat().flatMap((sbom) => sbom.components);
  return sbomText(
    sbomOf({ type: 'application', name, version: VERSION, licenses: [OWN_LICENCE] }, [
      ...components,
      ...more,
    ]),
  );
};

const listsBelow = async (folder: string): Promise<readonly Sbom[]> => {
  const names = await readdir(folder, { recursive: true });
  const files = names.filter((name) => name === SBOM || name.endsWith(`/${SBOM}`));
  if (files.length === 0)
    throw new FleetError('IO', `${folder} has no ${SBOM}`, {
      hint: 'Run npm run build and npm run bundle:agent first',
    });
  return Promise.all(
    files.map(async (file) => JSON.parse(await readFile(join(folder, file), 'utf8')) as Sbom),
  );
};

/** The official build of Node that a Debian package has inside. */
export const nodeComponent = (version: string): Component => ({
  type: 'application',
  'bom-ref': `pkg:generic/node@${version}`,
  name: 'node',
  version,
  licenses: [{ expression: 'MIT' }],
  purl: `pkg:generic/node@${version}`,
});
