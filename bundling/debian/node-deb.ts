import { cp, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { nodeComponent } from '../artifact-sbom.ts';
import { SBOM, sbomOf, sbomText } from '../sbom.ts';
import { nodeCopyright } from './copyright-text.ts';
import { NODE_DEPENDS, type NodeBuild } from './node-build.ts';
import { packDeb, type PackOptions } from './pack-deb.ts';
import { putFile } from './put-file.ts';

/** The package of Node for the programs that have none inside. */
export const NODE_PACKAGE = 'fleet-node';

/** To be raised with every change of what is around Node in the package, so that one version always has the same bytes. */
const REVISION = 1;

/** The time of every file: not that of a release, because releases with the same Node have the same package. npm gives its files this time, too. */
const EPOCH = 499_162_500;

/** Debian version of the package. */
export const nodeVersion = ({ version }: Pick<NodeBuild, 'version'>): string => `${version}-${REVISION}`;

/** The list of components of the package (CycloneDX). */
export const nodeSbom = ({ version }: Pick<NodeBuild, 'version'>): string =>
  sbomText(
    sbomOf({ type: 'application', name: NODE_PACKAGE, version: nodeVersion({ version }) }, [
      nodeComponent(version),
    ]),
  );

/** Packs Node alone. @param root an empty folder to work in @returns the path of the package */
export const buildNodeDeb = async (
  node: NodeBuild,
  root: string,
  { out, compression }: Omit<PackOptions, 'epoch'>,
): Promise<string> => {
  const library = join(root, 'usr/lib', NODE_PACKAGE);
  await mkdir(library, { recursive: true });
  await cp(node.program, join(library, 'node'));
  const doc = `usr/share/doc/${NODE_PACKAGE}`;
  await putFile(root, `${doc}/copyright`, nodeCopyright(node));
  await putFile(root, `${doc}/${SBOM}`, nodeSbom(node));
  await putFile(
    root,
    `usr/share/lintian/overrides/${NODE_PACKAGE}`,
    ['embedded-library *', 'unstripped-binary-or-object *']
      .map((tag) => `${NODE_PACKAGE}: ${tag}\n`)
      .join(''),
  );
  const fields = {
    name: NODE_PACKAGE,
    version: nodeVersion(node),
    architecture: node.architecture,
    depends: NODE_DEPENDS,
    synopsis: 'Node.js for the programs of Fleet Ferry',
    description: [
      `The official build of Node.js ${node.version}, unchanged, for fleet-export and fleet-scheduler.`,
      'It is not in PATH. A host with fleet-agent does not need it.',
    ],
  };
  return packDeb(root, fields, { out, compression, epoch: EPOCH });
};
