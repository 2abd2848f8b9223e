import type { HostSecret } from '#bundles/formats/bundle/host-package';
import { digestOf } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { MAX_SEALED_BYTES } from '#bundles/trust/secrets/secret-set';
import { parseStrictJson } from '#bundles/json/strict-json';
import type { Application } from '../../../load/applications/application.ts';
import type { HostSecretObject } from '../../content/host-package-object.ts';

/** A secret of the package, with its encrypted file if it has one. */
export type ResolvedSecret = {
  readonly secret: HostSecret;
  readonly bytes?: { readonly path: string; readonly bytes: Buffer };
};

/**
 * Resolves a secret for package.json. An encrypted file is carried byte for byte: only the agent can read it.
 * @throws FleetError REFERENCE_MISSING, FIELD_INVALID with the place that requests it
 */
export const resolveSecret = (object: HostSecretObject, application: Application): ResolvedSecret => {
  const { path, mode, owner, group, set, key, source, at } = object;
  const owned = { path, mode, owner, group };
  if (set !== undefined && key !== undefined) return { secret: { ...owned, set, key } };
  const bytes = application.files.get(source ?? '');
  if (!bytes)
    throw new FleetError('REFERENCE_MISSING', `there is no file ${source} in ${application.shown}`, { at });
  if (!isBinaryForm(bytes))
    throw new FleetError('FIELD_INVALID', `${source} is not encrypted in SOPS' binary form`, {
      at,
      hint: `Encrypt it whole: sops encrypt --input-type binary --output-type json ...; it may have ${MAX_SEALED_BYTES} bytes`,
    });
  const content = `secrets${path}`;
  return {
    secret: { ...owned, content, digest: digestOf(bytes), size: bytes.byteLength },
    bytes: { path: content, bytes },
  };
};

/** A JSON object with one encrypted text `data`, and the metadata of SOPS. */
const isBinaryForm = (bytes: Buffer): boolean => {
  try {
    const value = parseStrictJson(bytes, { maxBytes: MAX_SEALED_BYTES }) as Record<string, unknown> | null;
    const { data, sops, ...rest } = value ?? {};
    const mac = (sops as { readonly mac?: unknown } | undefined)?.mac;
    return (
      typeof data === 'string' &&
      data.startsWith('ENC[') &&
      typeof mac === 'string' &&
      Object.keys(rest).length === 0
    );
  } catch (error) {
    if (error instanceof FleetError) return false;
    throw error;
  }
};
