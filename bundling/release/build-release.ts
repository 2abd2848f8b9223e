import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { copyFile, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { digestFromHex } from '#bundles/digest';
import { signPayload } from '#bundles/trust/statements/sign-payload';
import { encodeStatement } from '#bundles/trust/statements/verify-statement';
import type { SigningKey } from '#bundles/trust/keys/key';
import { VERSION } from '#bundles/version';
import { artifactSbom, nodeComponent } from '../artifact-sbom.ts';
import { buildDebs, type DebsOptions } from '../debian/build-debs.ts';
import { findNode } from '../debian/node-build.ts';
import { NODE_PACKAGE, nodeSbom, nodeVersion } from '../debian/node-deb.ts';
import { PACKAGED } from '../debian/programs.ts';
import { buildNpm } from '../npm/build-npm.ts';
import { writeAptRepository } from './apt-repository.ts';
import type { Gpg } from './open-gpg.ts';

const REPOSITORY = join(import.meta.dirname, '../..');

/** Predicate type of the statement on the files of a release of these programs. */
export const ARTIFACTS_PREDICATE = 'urn:fleet-ferry:artifacts:v1';

export type ReleaseOptions = {
  /** The built programs: agent, exporter and scheduler, each a folder. */
  readonly programs: string;
  readonly out: string;
  /** The time of every file in the artifacts and of every index, in seconds since 1970. */
  readonly epoch: number;
  /** Signs the statement on all files. */
  readonly key: SigningKey;
  /** Signs the index of the apt repository. */
  readonly gpg: Gpg;
  /** Images as OCI archives, by the name of their program. */
  readonly images?: Readonly<Record<string, string>>;
  readonly debs?: Pick<DebsOptions, 'compression' | 'node' | 'onPackage'>;
};

/**
 * Makes everything that a release of this version publishes into `out`: `files` (packages, images and the list of components of each),
 * their SHA256SUMS, one statement on all of them with its public key, and `apt`, a repository of the Debian packages.
 * The same sources and keys give the same files; signatures differ, because ECDSA takes a random number.
 * @returns names of the files
 * @throws FleetError IO if a program was not built
 */
export const buildRelease = async (options: ReleaseOptions): Promise<readonly string[]> => {
  const { programs, out, epoch, key, gpg } = options;
  const files = join(out, 'files');
  await rm(out, { recursive: true, force: true });
  await mkdir(files, { recursive: true });
  const node = options.debs?.node ?? findNode(REPOSITORY);

  const debs = await buildDebs({ programs, out: files, epoch, ...options.debs });
  const npm = await buildNpm({ programs, out: join(out, 'npm') });
  await copyFile(npm, join(files, basename(npm)));
  await rm(join(out, 'npm'), { recursive: true });
  for (const [name, archive] of Object.entries(options.images ?? {}))
    await copyFile(archive, join(files, `${name}_${VERSION}_${node.architecture}.oci.tar`));

  const list = (name: string, sbom: string): Promise<void> =>
    writeFile(join(files, `${name}.cdx.json`), sbom);
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

  const names = (await readdir(files)).toSorted();
  const digests = await Promise.all(
    names.map(async (name) => [name, await sha256(join(files, name))] as const),
  );
  await writeFile(join(files, 'SHA256SUMS'), digests.map(([name, hex]) => `${hex}  ${name}\n`).join(''));
  const subjects = digests.map(([name, hex]) => ({ name, digest: digestFromHex(hex) }));
  const statement = encodeStatement(subjects, ARTIFACTS_PREDICATE, { version: VERSION });
  await writeFile(join(files, `fleet-ferry-${VERSION}.sigstore.json`), await signPayload(statement, key));
  await writeFile(join(files, 'fleet-ferry.pub'), key.public.pem);

  await writeAptRepository({ debs, out: join(out, 'apt'), epoch, clearSign: gpg.clearSign });
  await writeFile(join(out, 'apt', 'fleet-ferry.gpg'), gpg.publicKey);
  return names;
};

const sha256 = async (file: string): Promise<string> => {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return hash.digest('hex');
};
