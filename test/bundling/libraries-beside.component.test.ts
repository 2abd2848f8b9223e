import { renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { runInThisContext } from 'node:vm';
import type { Bundle } from '@sigstore/bundle';
import { rolldown } from 'rolldown';
import { expect, it } from 'vitest';
import { AS_FUNCTION } from '../../bundling/as-function.ts';
import { CEL, CERTIFICATES, type LibraryBeside, librariesBeside } from '../../bundling/libraries-beside.ts';
import { lazyNodeModules } from '../../bundling/lazy-node-modules.ts';
import { type ImageSignature, readSignatures } from '#bundles/trust/images/read-signatures';
import type { whyUnsigned } from '#bundles/trust/images/satisfies-policy';
import { parseTrustedRoot } from '#bundles/trust/images/trusted-root';
import { type Blobs, putImage, sourceOf } from '../agent/images/image-fixture.ts';
import { certifyWithBundle } from '../bundles/trust/images/sign-by-certificate.ts';
import { newSigstore } from '../harness/sigstore/sigstore.ts';
import { temporaryDirectory } from '../harness/run/temporary-directory.ts';

type Trust = { readonly whyUnsigned: typeof whyUnsigned };

type Program = { readonly parserOf: () => Promise<string> };

const TRUST = "export { whyUnsigned } from './satisfies-policy.ts';";
const PARSER = "export const parserOf = async () => (await import('./library.ts')).parse;";

/** Starts a program that imports a library when it is asked, as it lies in a folder. @param code of the module beside the library's */
const start = async <T = Program>(folder: string, code = PARSER, { module } = CEL): Promise<T> => {
  const main = join(dirname(module), 'main.mjs');
  const build = await rolldown({
    input: main,
    platform: 'node',
    plugins: [
      {
        name: 'main',
        resolveId: (source) => (source === main ? source : null),
        load: (id) => (id === main ? code : null),
      },
      librariesBeside([CEL, CERTIFICATES]),
      lazyNodeModules(),
    ],
  });
  const { output } = await build.generate(AS_FUNCTION);
  const file = join(folder, 'main.cjs');
  const program = { exports: {} };
  runInThisContext(output[0].code)(program.exports, createRequire(file), program, file, folder);
  return program.exports as T;
};

const put = (folder: string, version: string): void => {
  const file = join(folder, CEL.file);
  writeFileSync(`${file}.new`, `exports.parse = '${version}';`);
  renameSync(`${file}.new`, file);
};

const writeLibrary = async ({ module: input }: LibraryBeside, file: string): Promise<void> => {
  const library = await rolldown({ input, platform: 'node', plugins: [lazyNodeModules()] });
  const { format, minify } = AS_FUNCTION;
  await library.write({ file, format, minify });
};

it('gives a program whose files are replaced while it runs the CEL of its own version', async () => {
  await using folder = await temporaryDirectory('cel');
  put(folder.path, 'before');
  const program = await start(folder.path);
  put(folder.path, 'after');
  expect(await program.parserOf()).toBe('before');
  expect(await program.parserOf()).toBe('before');
  expect(await (await start(folder.path)).parserOf()).toBe('after');
});

it('starts a program without the file, which fails when it needs CEL, until the file is there', async () => {
  await using folder = await temporaryDirectory('cel');
  const program = await start(folder.path);
  await expect(program.parserOf()).rejects.toThrow(CEL.file);
  await expect(program.parserOf()).rejects.toThrow(CEL.file);
  put(folder.path, 'now');
  expect(await program.parserOf()).toBe('now');
});

it('reads the file again from its beginning after a failure', async () => {
  await using folder = await temporaryDirectory('cel');
  const file = join(folder.path, CEL.file);
  writeFileSync(file, 'exports.parse = (');
  const program = await start(folder.path);
  await expect(program.parserOf()).rejects.toThrow(SyntaxError);
  // In place: the program has the file open.
  writeFileSync(file, "exports.parse = 'whole';");
  expect(await program.parserOf()).toBe('whole');
});

it('fails at each judgement of a signature by certificate without the verifier, until it is there', async () => {
  await using folder = await temporaryDirectory('certificates');
  const trust = await start<Trust>(folder.path, TRUST, CERTIFICATES);
  const file = join(folder.path, CERTIFICATES.file);
  const signed = { signed: Buffer.alloc(0), signature: Buffer.alloc(0), certified: {} as Bundle };
  const signers = { keys: [], certificates: { trustedRoot: '', signers: [] } };
  await expect(trust.whyUnsigned(signed, signers)).rejects.toThrow(file);
  await expect(trust.whyUnsigned(signed, signers)).rejects.toThrow(file);
  await writeLibrary(CERTIFICATES, file);
  expect(await trust.whyUnsigned(signed, signers)).toBe('the trusted root of the policy cannot be read');
});

it('judges a signature by certificate with the verifier beside the program', async () => {
  await using folder = await temporaryDirectory('certificates');
  await writeLibrary(CERTIFICATES, join(folder.path, CERTIFICATES.file));
  const trust = await start<Trust>(folder.path, TRUST, CERTIFICATES);
  const sigstore = await newSigstore();
  const who = { identity: 'https://git.example/team/app', issuer: 'https://token.example' };
  const blobs: Blobs = new Map();
  const image = putImage(blobs, { layers: [] });
  const { digest } = await certifyWithBundle(blobs, image, sigstore, who);
  const [signature] = (await readSignatures(sourceOf(blobs), digest)).signatures;
  const policy = { trustedRoot: parseTrustedRoot(sigstore.trustedRoot()), signers: [who] };
  const judge = (certificates: typeof policy) =>
    trust.whyUnsigned(signature as ImageSignature, { keys: [], certificates });
  expect(await judge(policy)).toBeUndefined();
  const { ctlogs } = (await newSigstore()).root;
  const other = { ...policy, trustedRoot: parseTrustedRoot(sigstore.trustedRoot({ ctlogs })) };
  expect(await judge(other)).toContain('no log of certificates in it has it');
});
