import { copyFile, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { VERSION } from '#bundles/version';
import { artifactSbom, nodeComponent } from '../artifact-sbom.ts';
import { buildDebs, type DebsOptions } from '../debian/build-debs.ts';
import { findNode } from '../debian/node-build.ts';
import { NODE_PACKAGE, nodeSbom, nodeVersion } from '../debian/node-deb.ts';
import { PACKAGED } from '../debian/programs.ts';
import { buildNpm } from '../npm/build-npm.ts';

const REPOSITORY = join(import.meta.dirname, '../..');

export type FilesOptions = {
  /** The built programs: agent, exporter and scheduler, each a folder. */
  readonly programs: string;
  /** The folder that gets the files; what it held is removed. */
  readonly out: string;
  /** The time of every file in the artifacts, in seconds since 1970. */
  readonly epoch: number;
  /** Images as OCI archives, by the name of their program. */
  readonly images?: Readonly<Record<string, string>>;
  readonly debs?: Pick<DebsOptions, 'compression' | 'node' | 'onPackage'>;
};

/**
 * Builds the files of a release for the architecture of this machine: packages, images, and the list of components of each. It needs no key.
 * A file whose name has no architecture has the same bytes on each. @throws FleetError IO if a program was not built
 */
export const buildFiles = async ({
  programs,
  out,
  epoch,
  images = {},
  debs,
}: FilesOptions): Promise<void> => {
  await rm(out, { recursive: true, force: true });
  await mkdir(out, { recursive: true });
  const node = debs?.node ?? findNode(REPOSITORY);
  await buildDebs({ programs, out, epoch, ...debs });
  const npm = join(out, 'npm');
  // npm installs its add-on for one platform, and its own name for the file has none.
  const packed = `fleet-ferry-${VERSION}_${node.architecture}.tgz`;
  await copyFile(await buildNpm({ programs, out: npm }), join(out, packed));
  await rm(npm, { recursive: true });
  for (const [name, archive] of Object.entries(images))
    await copyFile(archive, join(out, `${name}_${VERSION}_${node.architecture}${IMAGE}`));

  const list = (name: string, sbom: string): Promise<void> => writeFile(join(out, `${name}.cdx.json`), sbom);
  for (const { program, folder, ...packaged } of PACKAGED)
    await list(
      `${program.name}_${VERSION}`,
      await artifactSbom(
        program.name,
        [join(programs, folder)],
        packaged.node === 'inside' ? [nodeComponent(node.version)] : [],
      ),
    );
  await list(`${NODE_PACKAGE}_${nodeVersion(node)}`, nodeSbom(node));
  const folders = PACKAGED.map(({ folder }) => join(programs, folder));
  await list(`fleet-ferry-${VERSION}`, await artifactSbom('fleet-ferry', folders));
};

/** End of the name of an image's OCI archive. */
export const IMAGE = '.oci.tar';
