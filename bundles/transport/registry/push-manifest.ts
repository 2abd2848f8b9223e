import { digestOf, isDigest, shortDigest } from '../../digest.ts';
import { FleetError } from '../../errors.ts';
import { discard } from './http/exchange.ts';
import { checkReference, nameOf, remember } from './pull-manifest.ts';
import { type RepositoryClient, scopeFor } from './repository-client.ts';

/** OCI distribution spec 1.1, "Pushing Manifests". */
export const pushManifest = async (
  repository: RepositoryClient,
  reference: string,
  { mediaType, bytes }: { readonly mediaType: string; readonly bytes: Uint8Array },
  signal?: AbortSignal,
): Promise<void> => {
  const { client, path, name } = repository;
  const digest = digestOf(bytes);
  const doing = `writing ${nameOf(reference)} to ${name}`;
  if (isDigest(reference) && reference !== digest) {
    throw new FleetError('DIGEST_MISMATCH', `${doing}: its bytes are ${shortDigest(digest)}`, {
      subject: reference,
    });
  }
  const ask = {
    doing,
    method: 'PUT' as const,
    path: `${path}/manifests/${checkReference(reference)}`,
    headers: { 'content-type': mediaType, 'content-length': String(bytes.byteLength) },
    body: bytes,
    accept: [201],
    scope: scopeFor(path, 'pull,push'),
    signal,
  };
  const said = await client.ask(ask, async (answer) =>
    (await discard(answer)).header('docker-content-digest'),
  );
  // A registry that changes manifests would invalidate their signatures.
  if (isDigest(said) && said !== digest) {
    throw new FleetError(
      'DIGEST_MISMATCH',
      `${doing}: ${client.host} made ${shortDigest(said)} of ${shortDigest(digest)}`,
      {
        subject: digest,
        hint: 'Use a registry that keeps manifests byte for byte',
      },
    );
  }
  remember(repository, digest);
};
