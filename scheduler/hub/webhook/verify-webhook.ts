import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { FleetError } from '#bundles/errors';

/** The sender, recognised by how it proves that it knows the secret. */
export type WebhookSender = 'github' | 'gitea' | 'gitlab' | 'azure-devops';

type Proof = { readonly sender: WebhookSender; readonly ok: boolean };

/**
 * Verifies that the sender of a webhook knows the secret. GitHub, Gitea and Forgejo sign the body with it, GitLab sends it in a
 * header, Azure DevOps as the password of basic authentication. The content is not read: a webhook only triggers a check.
 * @param body the raw bytes, over which the signature was made
 * @throws FleetError TOKEN_INVALID
 */
export const verifyWebhook = (
  headers: IncomingHttpHeaders,
  body: Uint8Array,
  secret: string,
): WebhookSender => {
  const proofs = proofsIn(headers, body, secret);
  // An empty secret would accept everyone.
  const good = secret === '' ? undefined : proofs.find(({ ok }) => ok);
  if (good) return good.sender;
  const [first] = proofs;
  throw new FleetError(
    'TOKEN_INVALID',
    first
      ? `the webhook's proof, as ${first.sender} gives it, does not match the secret`
      : 'the webhook has no signature, token or password',
    { hint: 'Configure the repository server with the secret in webhookSecretFile' },
  );
};

const proofsIn = (headers: IncomingHttpHeaders, body: Uint8Array, secret: string): readonly Proof[] => {
  const signature = createHmac('sha256', secret).update(body).digest('hex');
  const proofs: Proof[] = [];
  const add = (sender: WebhookSender, said: string | undefined, expected: string): void => {
    if (said !== undefined) proofs.push({ sender, ok: isEqualInConstantTime(said, expected) });
  };
  add('github', one(headers['x-hub-signature-256']), `sha256=${signature}`);
  add('gitea', one(headers['x-gitea-signature']) ?? one(headers['x-forgejo-signature']), signature);
  add('gitlab', one(headers['x-gitlab-token']), secret);
  add('azure-devops', passwordOf(headers.authorization), secret);
  return proofs;
};

/** The part after the first colon (RFC 7617). The user name is ignored. */
const passwordOf = (authorization: string | undefined): string | undefined => {
  const [, encoded] = /^basic +([A-Za-z0-9+/=]+)$/i.exec(authorization ?? '') ?? [];
  if (encoded === undefined) return undefined;
  const text = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  return colon < 0 ? '' : text.slice(colon + 1);
};

const one = (value: string | string[] | undefined): string | undefined =>
  Array.isArray(value) ? value[0] : value;

/** Compares two texts in constant time, by their digests, which have equal length. */
export const isEqualInConstantTime = (said: string, expected: string): boolean =>
  timingSafeEqual(createHash('sha256').update(said).digest(), createHash('sha256').update(expected).digest());
