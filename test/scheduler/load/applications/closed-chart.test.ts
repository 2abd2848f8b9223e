import { posix } from 'node:path';
import { brotliCompressSync, gunzipSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { Header, Parser, Pax } from 'tar';
import { describe, expect, it } from 'vitest';
import { refusalOf } from '../../../bundles/refusal.ts';
import { closedArchive, closedChart } from '../../../../scheduler/load/applications/closed-chart.ts';

type Entries = readonly (readonly [path: string, content: string | Buffer])[];

/** A tar archive with names as they are given: writers refuse some of them. */
const packed = (entries: Entries): Buffer => {
  const blocks = entries.flatMap(([path, content]) => {
    const bytes = Buffer.from(content);
    const header = new Header({ path, size: bytes.length, mode: 0o644, type: 'File' });
    const before = header.encode() ? [new Pax({ path }).encode()] : [];
    return [...before, header.block ?? Buffer.alloc(0), bytes, Buffer.alloc(-bytes.length & 511)];
  });
  return gzipSync(Buffer.concat([...blocks, Buffer.alloc(1024)]));
};

/** The files of an archive, as tar lists them. */
const unpacked = (archive: Buffer): readonly (readonly [string, Buffer])[] => {
  const files: [string, Buffer][] = [];
  const parser = new Parser({
    onReadEntry: (entry) => {
      const pieces: Buffer[] = [];
      entry.on('data', (piece) => pieces.push(piece));
      entry.on('end', () => files.push([entry.path, Buffer.concat(pieces)]));
    },
  });
  parser.end(gunzipSync(archive));
  return files;
};

const CHART = 'apiVersion: v2\nname: web\nversion: 1.0.0\n';
const SHOWN = 'apps/shop/chart/';
const foldersOf = (files: Readonly<Record<string, string | Buffer>>) =>
  new Map(Object.entries({ 'Chart.yaml': CHART, ...files }).map(([path, text]) => [path, Buffer.from(text)]));

const ADDRESS = 'http://127.0.0.1:1/a.json';
const DRAFT_4 = { $schema: 'http://json-schema.org/draft-04/schema#' };
const DRAFT_7 = { $schema: 'http://json-schema.org/draft-07/schema#' };
const FOREIGN = JSON.stringify({ $ref: ADDRESS });
const refusal = (file: string) => ({ code: 'FIELD_INVALID', at: { file } });

/** Every place of a schema in a chart, with the path that a message names. */
const placesOf = (schema: string): readonly (readonly [string, () => unknown])[] => {
  const archive = packed([
    ['web/Chart.yaml', CHART],
    ['web/values.schema.json', schema],
  ]);
  const around = packed([
    ['web/Chart.yaml', CHART],
    ['web/charts/db-1.tgz', archive],
  ]);
  return [
    ...['values.schema.json', 'charts/db/values.schema.json'].map(
      (path) => [path, () => closedChart(foldersOf({ [path]: schema }), SHOWN)] as const,
    ),
    ...['charts/db-1.tgz', 'charts/a/charts/db-1.tgz'].map(
      (path) =>
        [`${path}/values.schema.json`, () => closedChart(foldersOf({ [path]: archive }), SHOWN)] as const,
    ),
    ['values.schema.json', () => closedArchive(archive, SHOWN)],
    ['charts/db-1.tgz/values.schema.json', () => closedArchive(around, SHOWN)],
  ];
};

describe('a chart', () => {
  it.each([
    ['the network', { $ref: 'http://127.0.0.1:1/x.json' }],
    ['the disk', { properties: { a: { $ref: 'file:///etc/hostname' } } }],
    ['the disk, by a relative name', { properties: { a: { $ref: 'x.json' } } }],
    ['a base that it names', { $id: 'http://127.0.0.1:1/a.json', $defs: { a: { $ref: 'b.json' } } }],
    ['a draft of its own', { $schema: 'http://127.0.0.1:1/draft.json' }],
    ['a draft that is its own', { $schema: ADDRESS, $id: ADDRESS }],
    ['a draft in its definitions', { $schema: ADDRESS, $defs: { a: { $id: ADDRESS } } }],
    ['a draft of a part that is the whole', { $id: ADDRESS, items: { $schema: ADDRESS } }],
    ['a draft that Helm has not', { $schema: 'http://json-schema.org/draft-03/schema#' }],
    ['a part that its draft has not', { $ref: 'https://json-schema.org/draft/2019-09/meta/unevaluated' }],
    ['a name that begins like a draft', { $ref: 'http://json-schema.org/draft-07/schema.json' }],
    ['an address that is no id in this draft', { id: ADDRESS, $ref: ADDRESS }],
    ['an address that is no id in draft 4', { ...DRAFT_4, $id: ADDRESS, items: { $ref: ADDRESS } }],
    ['an address whose id is ignored, beside a $ref', { $id: ADDRESS, $ref: `${ADDRESS}#/items` }],
    ['definitions that draft 7 has not', { ...DRAFT_7, $defs: { a: { $id: ADDRESS } }, $ref: ADDRESS }],
    ['an id outside of the definitions', { default: { $id: ADDRESS }, items: { $ref: ADDRESS } }],
    ["its own relative name in another's place", { $id: 'x', $defs: { a: { $id: ADDRESS, $ref: 'x' } } }],
    ['a property whose name is a keyword of data', { properties: { default: { $ref: ADDRESS } } }],
    [
      'a property of a property whose name is a keyword',
      { properties: { properties: { properties: { default: { $ref: ADDRESS } } } } },
    ],
    ['data that it refers to', { $ref: '#/default', default: { $ref: ADDRESS } }],
    ['data that it refers to in percent encoding', { $ref: '#/%64efault', default: { $ref: ADDRESS } }],
    [
      'data that it refers to by its own id',
      { $id: ADDRESS, items: { $ref: `${ADDRESS}#/enum/0` }, enum: [{ $ref: 'x' }] },
    ],
    [
      'an unknown keyword that it refers to',
      { $ref: '#/a/properties', a: { properties: { $ref: ADDRESS } } },
    ],
    [
      'a property of properties that it refers to as a schema',
      { $ref: '#/properties', properties: { properties: { default: { $ref: ADDRESS } } } },
    ],
    [
      'a definition of definitions that it refers to as a schema',
      { $ref: '#/a/%24defs', a: { $defs: { properties: { default: { $ref: ADDRESS } } } } },
    ],
  ])('N11: is refused where a schema of values is loaded from %s -> FIELD_INVALID', (_, schema) => {
    for (const [path, close] of placesOf(JSON.stringify(schema)))
      expect(refusalOf(close), path).toMatchObject(refusal(`${SHOWN}${path}`));
  });

  it.each([
    [
      'with a byte order mark, which Helm skips',
      '\uFEFF{"$ref": "http://127.0.0.1:1/x.json"}',
      '$ref refers to',
    ],
    ['that is not JSON', '{"$ref": "http://127.0.0.1:1/x.json"} {}', 'is not JSON'],
  ])('N11: is refused with a schema of values %s -> FIELD_INVALID', (_, text, said) => {
    for (const [path, close] of placesOf(text))
      expect(refusalOf(close), path).toMatchObject({
        ...refusal(`${SHOWN}${path}`),
        message: expect.stringContaining(said),
      });
  });

  it.each([
    ['with a dot in its path', 'web/./values.schema.json'],
    ['with an empty folder in its path', 'web/charts//../values.schema.json'],
    ['with the paths of Windows', 'web\\values.schema.json'],
    ['with both kinds of paths', 'web/x\\values.schema.json'],
  ])('N11: is refused where a packed schema is found %s -> FIELD_INVALID', (_, path) => {
    const archive = packed([
      ['web/Chart.yaml', CHART],
      [path, FOREIGN],
    ]);
    expect(refusalOf(() => closedArchive(archive, SHOWN))).toMatchObject(
      refusal(`${SHOWN}values.schema.json`),
    );
  });

  it.each([
    [
      'itself',
      {
        ...DRAFT_7,
        $id: 'https://example.com/web.json',
        properties: { a: { $ref: '#/$defs/a' }, b: { $ref: 'https://example.com/web.json#/$defs/a' } },
        $defs: { a: { type: 'string', default: '$ref' } },
      },
    ],
    [
      'a schema in $defs',
      { items: { $ref: `${ADDRESS}#/items` }, $defs: { a: { $id: ADDRESS, items: {} } } },
    ],
    [
      'one in the definitions of draft 7',
      { ...DRAFT_7, $ref: ADDRESS, definitions: { a: { $id: `${ADDRESS}#` } } },
    ],
    [
      'drafts that Helm has',
      {
        $schema: 'https://json-schema.org/draft/2020-12/schema',
        properties: {
          a: { $ref: 'http://json-schema.org/draft-07/schema#/definitions/nonNegativeInteger' },
          b: { $ref: 'https://json-schema.org/draft/2020-12/meta/unevaluated' },
        },
      },
    ],
    ['one in those of draft 4', { ...DRAFT_4, $ref: ADDRESS, definitions: { a: { id: ADDRESS } } }],
    [
      'others in its data only',
      {
        properties: {
          default: { $ref: '#/properties/config' },
          again: { $ref: '#/properties/default' },
          config: {
            type: 'object',
            default: { $schema: 'https://docs.example/config.json', a: { $ref: 'b' } },
          },
          a: {
            enum: [{ $ref: ADDRESS }],
            examples: [{ items: { $ref: ADDRESS } }],
            const: { $ref: ADDRESS },
          },
        },
      },
    ],
  ])('may have a values schema with references to %s', (_, schema) => {
    for (const [path, close] of placesOf(JSON.stringify(schema))) expect(close, path).not.toThrow();
  });

  it('that is packed keeps its files, in order, with names of any length', () => {
    const long = `templates/${'folder/'.repeat(40)}ä b.yaml`;
    const files: Entries = [
      ['web/Chart.yaml', CHART],
      [`web/${long}`, 'a: 1\n'],
      ['web/values.yaml', ''],
      ['web/.helmignore', 'x\n'],
    ];
    const kept = unpacked(closedArchive(packed(files), SHOWN));
    expect(kept.map(([path, bytes]) => [posix.relative('chart', path), bytes.toString()])).toEqual(
      files.map(([path, text]) => [posix.relative('web', path), text]),
    );
  });

  it.each([
    ['no archive', Buffer.from('version https://git-lfs.example/spec/v1\n')],
    ['an archive that is cut', packed([['web/Chart.yaml', CHART]]).subarray(0, 60)],
    ['an archive that is compressed twice', gzipSync(packed([['web/Chart.yaml', CHART]]))],
    [
      'an archive that is compressed by zstd',
      gzipSync(zstdCompressSync(gunzipSync(packed([['web/a', '']])))),
    ],
    [
      'an archive that is compressed by brotli',
      gzipSync(brotliCompressSync(gunzipSync(packed([['web/a', '']])))),
    ],
    ['an archive without a folder', packed([['Chart.yaml', CHART]])],
    ['an archive that leaves its folder', packed([['web/../../a.yaml', '']])],
  ])('is refused with %s among its dependencies', (_, archive) => {
    expect(refusalOf(() => closedChart(foldersOf({ 'charts/db-1.tgz': archive }), SHOWN))).toMatchObject(
      refusal(`${SHOWN}charts/db-1.tgz`),
    );
    expect(() => closedChart(foldersOf({ 'charts/_db-1.tgz': archive }), SHOWN)).not.toThrow();
  });

  it('is refused when what is packed in it unpacks to more than Helm takes', () => {
    const half = packed([['web/zeros', Buffer.alloc(52 << 20)]]);
    const twice = foldersOf({ 'charts/a.tgz': half, 'charts/b.tgz': half });
    expect(refusalOf(() => closedChart(twice, SHOWN))).toMatchObject(refusal(`${SHOWN}charts/b.tgz`));
  });
});
