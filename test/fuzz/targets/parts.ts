import { createCipheriv } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { createDecrypter } from '#bundles/trust/age/decrypter';
import { openAge } from '#bundles/trust/age/open-age';
import { CHUNK, CIPHER, chunkNonce, chunksOf, NONCE, payloadKey, TAG } from '#bundles/trust/age/payload';
import { canonicalBytes, canonicalJson } from '#bundles/json/canonical';
import { applyPatch } from '#bundles/formats/delta/apply-patch';
import { createPatch } from '#bundles/formats/delta/create-patch';
import { digestOf } from '#bundles/digest';
import { readBlob } from '#bundles/formats/layout/verified';
import { VERIFICATION_PREDICATE } from '#bundles/media-types';
import { parseMedium } from '#bundles/formats/medium/medium';
import { openMedium } from '#bundles/formats/medium/open-medium';
import {
  parsePartLabel,
  parsePartName,
  parseVolumeParts,
  partName,
} from '#bundles/formats/medium/parts/part';
import { readPart } from '#bundles/formats/medium/parts/read-part';
import { signPayload } from '#bundles/trust/statements/sign-payload';
import { encodeStatement } from '#bundles/trust/statements/verify-statement';
import { generatePrivateKey, loadSigningKey } from '#bundles/trust/keys/key';
import { verifyEvidence } from '../../../exporter/verify/evidence/read-evidence.ts';
import { inMemory, readAll } from '../../bundles/trust/age/in-memory.ts';
import { blobsInMemory } from '../../bundles/blobs-in-memory.ts';
import { file } from '../../bundles/golden-corpus.ts';
import { CHUNKED, WHOLE } from '../../bundles/formats/medium/sample-medium.ts';
import { partBytes, SHARED, setOf } from '../../bundles/formats/medium/sample-parts.ts';
import { atEnd } from '../../harness/run/at-end.ts';
import { mutateTar } from '../mutate-archive.ts';
import { type Mutate, mutateBytes } from '../mutate-bytes.ts';
import { mutateJson, mutateLines } from '../mutate-json.ts';
import { insist, type Target } from '../target.ts';

const corpus = (name: string): Buffer => readFileSync(join(import.meta.dirname, '..', 'corpus', name));

const PARTS_OF_SET = await Promise.all([1, 2, 3].map((number) => partBytes(number)));
/** The first has a blob of a megabyte: what is changed are the small ones. */
const SMALL = PARTS_OF_SET.slice(1);
const SET = setOf();
const LABEL = { format: 1, set: SET, number: 2, count: 3 };
const LINES = [1, 2].map((number) => ({
  number,
  path: `fleet/parts/${partName(SET, number, false)}`,
  size: 4096,
  digest: SET,
}));

let folder: string | undefined;
/** The second part is the input, the others are good: a folder that is made once for each process. */
const folderWith = (second: Buffer): string => {
  if (folder === undefined) {
    const made = mkdtempSync(join(tmpdir(), 'fuzz-set-'));
    atEnd(() => rmSync(made, { recursive: true, force: true }));
    for (const [at, bytes] of PARTS_OF_SET.entries())
      writeFileSync(join(made, partName(SET, at + 1, false)), bytes);
    folder = made;
  }
  writeFileSync(join(folder, partName(SET, 2, false)), second);
  return folder;
};

const OLD = Buffer.from(Array.from({ length: 4000 }, (_, at) => (at * at) >>> 3));
const PATCHES = await Promise.all(
  [OLD.subarray(700), Buffer.concat([OLD.subarray(0, 900), Buffer.from('new'), OLD.subarray(1200)])].map(
    async (fresh) => (await createPatch(OLD, fresh, OLD.length))?.bytes ?? Buffer.alloc(0),
  ),
);
const MAX_MADE = 8 << 20;
const MAX_STEPS = 5000;

/** What zstd would only call damaged is changed inside of it. */
const mutatePatch: Mutate = (random, input, others) => {
  if (random.chance(20)) return mutateBytes(random, input, others);
  try {
    const inside = zstdDecompressSync(input, { maxOutputLength: 1 << 20 });
    return zstdCompressSync(mutateBytes(random, inside, []));
  } catch {
    return mutateBytes(random, input, others);
  }
};

/** A throw-away key, readable by anyone who runs this. */
const IDENTITY = corpus('age-identity.txt').toString().trim();
const PLAIN = Buffer.alloc(CHUNK + 5000, 'what is sealed');

/** The same file each time: the header of one that was made once, and a payload under its key. */
const sealedFile = async (): Promise<Buffer> => {
  const made = corpus('secret-set.age');
  const header = made.subarray(0, made.indexOf('\n', made.indexOf('\n--- ') + 1) + 1);
  const nonce = Buffer.alloc(NONCE, 7);
  const key = payloadKey(await (await createDecrypter([IDENTITY])).decryptHeader(header), nonce);
  const chunks = Array.from({ length: chunksOf(PLAIN.length) }, (_, index) => {
    const cipher = createCipheriv(CIPHER, key, chunkNonce(index, index === chunksOf(PLAIN.length) - 1), {
      authTagLength: TAG,
    });
    const sealed = cipher.update(PLAIN.subarray(index * CHUNK, (index + 1) * CHUNK));
    return Buffer.concat([sealed, cipher.final(), cipher.getAuthTag()]);
  });
  return Buffer.concat([header, nonce, ...chunks]);
};

const AUDITOR = loadSigningKey(generatePrivateKey());
const CONTENTS = file('media/full/fleet/medium.json');
const CHECK = {
  at: '2026-11-21T08:00:00Z',
  what: 'fleet',
  result: 'passed',
  digests: [SET],
  keys: [SET.slice(7)],
};
const VERIFIED = {
  fleet: 'golden',
  root: { version: 1, digest: SET },
  anchored: false,
  result: 'passed',
  checks: { passed: 2, refused: 0 },
  blobs: { passed: 1, refused: 0, bytes: 9 },
  form: 'directory',
  time: '2026-11-21T08:00:00Z',
  program: 'fleet-export 0.1.0',
};

export const PARTS: readonly Target[] = [
  {
    name: 'part-label',
    corpus: [canonicalBytes(LABEL)],
    mutate: mutateJson,
    run: (input) => {
      const { number, count } = parsePartLabel(input);
      insist(number >= 1 && number <= 9999 && count <= 9999, `part ${number} of ${count}`);
    },
  },
  {
    name: 'stick-parts',
    corpus: [
      canonicalBytes({ format: 1, set: SET, count: 3, sealed: false, parts: LINES }),
      canonicalBytes({
        format: 1,
        set: SET,
        count: 3,
        sealed: true,
        parts: LINES.slice(1),
        limits: { partSize: 4096, sticks: [9000] },
        replaced: LINES.map(({ path }) => path),
      }),
    ],
    mutate: mutateJson,
    run: (input) => {
      const { parts, replaced = [] } = parseVolumeParts(input, 'fleet/parts.json');
      for (const path of [...parts.map((it) => it.path), ...replaced])
        insist(parsePartName(path.replace('fleet/parts/', '')) !== undefined, `a part at ${path}`);
    },
  },
  {
    name: 'part',
    corpus: SMALL,
    mutate: mutateTar,
    run: async (input) => {
      const { label, medium, spans } = await readPart(inMemory(input));
      insist(digestOf(medium) === label.set, 'a part is of another set than it says');
      for (const [path, { offset, size }] of spans) {
        insist(/^(blobs|fleet|oci-layout|index\.json)/.test(path), `it has ${path}`);
        insist(offset >= 0 && offset + size <= input.length, `${path} lies behind the end`);
      }
    },
  },
  {
    name: 'set',
    corpus: SMALL.slice(0, 1),
    mutate: mutateTar,
    run: async (input) => {
      await using medium = await openMedium(folderWith(input));
      insist(medium.parts?.set === SET, 'another set was opened');
      for (const content of [CHUNKED, WHOLE[1], SHARED]) {
        const digest = digestOf(content);
        if ((await medium.blobs.size(digest)) === undefined) continue;
        const bytes = await readBlob(medium.blobs, digest, 1 << 20);
        insist(bytes.equals(content), `${digest} was read as something else`);
      }
    },
  },
  {
    name: 'age-part',
    corpus: [await sealedFile()],
    mutate: mutateBytes,
    run: async (input) => {
      const opened = await openAge(inMemory(input), [IDENTITY]);
      insist((await readAll(opened)).equals(PLAIN), 'a changed file was opened');
    },
  },
  {
    name: 'patch',
    corpus: PATCHES,
    mutate: mutatePatch,
    run: async (input) => {
      let made = 0;
      const read = async (offset: number, length: number): Promise<Buffer> => {
        insist(offset >= 0 && offset + length <= OLD.length, `the old content was read at ${offset}`);
        return OLD.subarray(offset, offset + length);
      };
      for await (const chunk of applyPatch([input], { size: OLD.length, read }, MAX_STEPS)) {
        insist(chunk.length <= 1 << 20, `a piece of ${chunk.length} bytes`);
        made += chunk.length;
        if (made > MAX_MADE) return;
      }
    },
  },
  {
    name: 'evidence',
    corpus: [
      Buffer.from(
        [
          CHECK,
          { ...CHECK, what: 'blob', size: 9 },
          { ...CHECK, result: 'refused', code: 'EXPIRED', message: 'it has ended' },
        ]
          .map((line) => `${canonicalJson(line)}\n`)
          .join(''),
      ),
    ],
    mutate: mutateLines,
    run: async (input) => {
      const subjects = [
        { name: 'checks', digest: digestOf(input) },
        { name: 'medium', digest: digestOf(CONTENTS) },
      ];
      const statement = await signPayload(
        encodeStatement(subjects, VERIFICATION_PREDICATE, VERIFIED),
        AUDITOR,
      );
      const medium = parseMedium(CONTENTS);
      const evidence = { statement, checks: input, contents: CONTENTS, medium, blobs: blobsInMemory() };
      const { lines, blobLines } = verifyEvidence({ folder: 'evidence', ...evidence }, [AUDITOR.public]);
      for (const { what, result, digests } of [...lines, ...blobLines]) {
        insist(what.length <= 300 && ['passed', 'refused'].includes(result), `the line ${what}`);
        insist(
          digests.every((digest) => /^sha256:[0-9a-f]{64}$/.test(digest)),
          'a digest that is none',
        );
      }
    },
  },
];
