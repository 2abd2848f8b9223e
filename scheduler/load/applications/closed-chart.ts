import { posix } from 'node:path';
import { Header, Parser, Pax } from 'tar';
import { FleetError } from '#bundles/errors';
import { gunzipCapped, gzipFixed } from '#bundles/formats/archive/gzip';
import { isGzip } from '#bundles/formats/delta/gzip-layer';
import type { Tree } from './application-source.ts';
import { checkValuesSchemas } from './check-values-schema.ts';

/** Helm's limit for one archive; here for a chart with all that are packed in it. */
const MAX_BYTES = 100 << 20;

/** A packed dependency of the chart, or of a subchart that is a folder in it. Helm skips names that begin with '_' or '.'. */
const PACKED = /^(?:charts\/[^/]+\/)*charts\/[^/_.][^/]*\.tgz$/;

/** Bytes that the archives of a chart may still unpack to. */
type Room = { bytes: number };

/** A path may be there twice. */
type Files = readonly (readonly [path: string, bytes: Buffer])[];

/**
 * The files of a chart after a check that no values.schema.json in it refers to another document. Packed dependencies are judged too, and
 * packed again from the files that were judged, so that Helm cannot read other files from an archive than we do.
 * @param shown prefix of paths in messages
 * @throws FleetError FIELD_INVALID
 */
export const closedChart = (chart: Tree, shown: string): Tree => {
  const known = charts.get(chart);
  if (known) return known;
  const files = new Map(closed([...chart], shown, { bytes: MAX_BYTES }));
  charts.set(chart, files);
  return files;
};

/** As closedChart, of a packed chart. Computed once for an archive: many cluster types may use it. */
export const closedArchive = (archive: Buffer, shown: string): Buffer => {
  const known = archives.get(archive);
  if (known) return known;
  const packed = closedPacked(archive, shown, { bytes: MAX_BYTES });
  archives.set(archive, packed);
  return packed;
};

const charts = new WeakMap<Tree, Tree>();
const archives = new WeakMap<Buffer, Buffer>();

const closed = (files: Files, shown: string, room: Room): Files => {
  checkValuesSchemas(files, shown);
  return files.map(([path, bytes]) => [
    path,
    PACKED.test(path) ? closedPacked(bytes, `${shown}${path}/`, room) : bytes,
  ]);
};

const closedPacked = (archive: Buffer, shown: string, room: Room): Buffer =>
  pack(closed(unpack(archive, shown, room), shown, room));

/** @throws FleetError FIELD_INVALID for other content, and past the limit */
const unpack = (archive: Buffer, shown: string, room: Room): Files => {
  const files: (readonly [string, Buffer])[] = [];
  try {
    const tar = gunzipCapped(archive, room.bytes);
    room.bytes -= tar.length;
    // The parser would unpack this, too, past the limit.
    if (isGzip(tar)) throw new Error('it is compressed twice');
    const parser = new Parser({
      strict: true,
      brotli: false,
      zstd: false,
      onReadEntry: (entry) => {
        const pieces: Buffer[] = [];
        entry.on('data', (piece) => pieces.push(piece));
        entry.on('end', () => {
          if (entry.type !== 'Directory') files.push([pathInChart(entry.path), Buffer.concat(pieces)]);
        });
      },
    });
    parser.on('error', (error) => {
      throw error;
    });
    parser.write(tar);
    parser.end();
    return files;
  } catch (cause) {
    const why = cause instanceof Error ? `: ${cause.message}` : '';
    throw new FleetError('FIELD_INVALID', `this packed chart cannot be read${why}`, {
      at: { file: shown.replace(/\/$/, '') },
      hint: 'Pack it with helm package',
      cause,
    });
  }
};

/** As Helm finds it, which leaves the first folder out. An archive that was made on Windows may have backslashes. */
const pathInChart = (path: string): string => {
  const slash = path.includes('\\') ? '\\' : '/';
  const inside = posix.normalize(path.split(slash).slice(1).join('/'));
  if (/^(?:\/|\.\.?(?:\/|$))/.test(inside)) throw new Error(`${path} is not in its folder`);
  return inside;
};

const BLOCK = 512;

const pack = (files: Files): Buffer => {
  const blocks = files.flatMap(([path, bytes]) => {
    const entry = { path: `chart/${path}`, size: bytes.length, mode: 0o644, type: 'File' } as const;
    const header = new Header(entry);
    const before = header.encode() ? [new Pax({ path: entry.path }).encode()] : [];
    return [...before, header.block ?? Buffer.alloc(0), bytes, Buffer.alloc(-bytes.length & (BLOCK - 1))];
  });
  return gzipFixed(Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)]));
};
