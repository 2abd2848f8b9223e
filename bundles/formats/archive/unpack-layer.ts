import { FleetError } from '../../errors.ts';
import { claimPaths } from './claim-paths.ts';
import { entryPath, LAYER_PATHS } from './entry-path.ts';
import { gunzipCapped } from './gzip.ts';
import { BLOCK, decodeHeader, isZero, paddingOf, quoted } from './tar-header.ts';

/**
 * Returns the files of a layer by path, without directories. `mode` has permission bits only. All `bytes` are views of
 * one buffer. The caller has checked the digest of the layer; this function refuses links, devices, set-uid bits and paths
 * that leave the directory, which a signed layer can still contain (security design, section 5).
 * @param limits `maxBytes` of the uncompressed tar, `maxEntries` of it with directories
 * @throws FleetError BOMB, BAD_GZIP, TRUNCATED, TRAILING, TOO_MANY, BAD_NAME, ENTRY_TYPE, DUPLICATE, TAR_SIZE, TAR_CHECKSUM
 */
export const unpackLayer = (
  gz: Uint8Array,
  limits: { maxBytes: number; maxEntries: number },
): ReadonlyMap<string, { bytes: Buffer; mode: number }> => {
  const tar = gunzipCapped(gz, limits.maxBytes);
  const files = new Map<string, { bytes: Buffer; mode: number }>();
  const claim = claimPaths();
  let at = 0;
  for (let count = 1; ; count += 1) {
    const block = piece(tar, at, BLOCK);
    if (isZero(block)) break;
    if (count > limits.maxEntries) {
      throw new FleetError('TOO_MANY', `the layer has more than ${limits.maxEntries} entries`);
    }
    const header = decodeHeader(block, at);
    const path = entryPath(header, LAYER_PATHS);
    if (header.mode > 0o777) {
      throw new FleetError('ENTRY_TYPE', 'a layer entry is set-uid, set-gid or sticky', {
        subject: quoted(path),
      });
    }
    claim(path, header.directory);
    const bytes = piece(tar, at + BLOCK, header.size);
    at += BLOCK + header.size;
    const padding = piece(tar, at, paddingOf(header.size));
    if (!isZero(padding)) throw trailing(at);
    at += padding.length;
    if (!header.directory) files.set(path, { bytes, mode: header.mode });
  }
  if (!isZero(piece(tar, at + BLOCK, BLOCK)) || !isZero(tar.subarray(at))) throw trailing(at);
  return files;
};

const piece = (tar: Buffer, at: number, length: number): Buffer => {
  if (at + length <= tar.length) return tar.subarray(at, at + length);
  throw new FleetError(
    'TRUNCATED',
    `the layer's tar ends at byte ${tar.length}, before its entry or end marker does`,
  );
};

const trailing = (at: number): FleetError =>
  new FleetError('TRAILING', `the layer's tar has data where only zeros may be, behind byte ${at}`);
