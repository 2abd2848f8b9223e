import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { digestFromHex } from '#bundles/digest';
import type { SigningKey } from '#bundles/trust/keys/key';
import { signPayload } from '#bundles/trust/statements/sign-payload';
import { encodeStatement } from '#bundles/trust/statements/verify-statement';
import { VERSION } from '#bundles/version';
import { writeAptRepository } from './apt-repository.ts';
import type { Gpg } from './open-gpg.ts';

/** Predicate type of the statement on the files of a release of these programs. */
export const ARTIFACTS_PREDICATE = 'urn:fleet-ferry:artifacts:v1';

export type SignOptions = {
  /** The folder with `files`, which gets `apt` beside it. */
  readonly out: string;
  /** The time of the index of the apt repository, in seconds since 1970. */
  readonly epoch: number;
  /** Signs the statement on all files. */
  readonly key: SigningKey;
  /** Signs the index of the apt repository. */
  readonly gpg: Gpg;
};

/**
 * Adds to the files of a release, of one architecture or several, their SHA256SUMS and one statement on all of them with its public key, and
 * makes `apt`, a repository of the Debian packages. The same files and keys give the same bytes; signatures differ, because ECDSA takes a
 * random number. @returns names of the files
 */
export const signFiles = async ({ out, epoch, key, gpg }: SignOptions): Promise<readonly string[]> => {
  const files = join(out, 'files');
  const names = (await readdir(files)).toSorted();
  const digests = await Promise.all(
    names.map(async (name) => [name, await sha256(join(files, name))] as const),
  );
  await writeFile(join(files, 'SHA256SUMS'), digests.map(([name, hex]) => `${hex}  ${name}\n`).join(''));
  const subjects = digests.map(([name, hex]) => ({ name, digest: digestFromHex(hex) }));
  const statement = encodeStatement(subjects, ARTIFACTS_PREDICATE, { version: VERSION });
  await writeFile(join(files, `fleet-ferry-${VERSION}.sigstore.json`), await signPayload(statement, key));
  await writeFile(join(files, 'fleet-ferry.pub'), key.public.pem);

  const apt = join(out, 'apt');
  await rm(apt, { recursive: true, force: true });
  const debs = names.filter((name) => name.endsWith('.deb')).map((name) => join(files, name));
  await writeAptRepository({ debs, out: apt, epoch, clearSign: gpg.clearSign });
  await writeFile(join(apt, 'fleet-ferry.gpg'), gpg.publicKey);
  return names;
};

const sha256 = async (file: string): Promise<string> => {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return hash.digest('hex');
};
