import { FleetError } from '#bundles/errors';
import { readGivenFile } from '#bundles/read-given-file';
import type { RegistryOptions } from '#bundles/transport/registry/registry';
import { redactUrl } from '../../../model/repository-url.ts';
import { chooseForge } from './choose-forge.ts';
import { type Forge, TOKEN_VARIABLE } from './forge.ts';
import { placeOf } from './repository-place.ts';

/** A forge that a token is configured for. The token goes to this host, or to the address of its API in `forge`, and nowhere else. */
export type ConfiguredForge = {
  /** Of the URLs of its repositories, without the port. */
  readonly host: string;
  /** Its kind, with '=<API address>' if the address is not the default; undefined for the public services. */
  readonly forge?: string | undefined;
  /** The first line is the token. Read for each use, so that it can change. */
  readonly tokenFile: string;
};

/** A name in a repository's path that would reach another path of the API. */
const UNSAFE_NAME = /^\.{0,2}$|[/?#%\\\p{Cc}]/u;

/** The configured forge that a repository is on. @returns undefined for a repository elsewhere */
export const configuredFor = (
  repo: string,
  forges: readonly ConfiguredForge[],
): ConfiguredForge | undefined => {
  const place = placeOf(redactUrl(repo));
  if (!place || place.segments.some((segment) => UNSAFE_NAME.test(segment))) return undefined;
  return forges.find(({ host }) => host.toLowerCase() === place.host);
};

/** Opens a repository at a forge of `configuredFor`. @throws FleetError CONFIG_INVALID for the token file; USAGE for an unknown kind */
export const openConfigured = async (
  repo: string,
  { forge, tokenFile }: ConfiguredForge,
  access: { readonly connection: RegistryOptions; readonly signal: AbortSignal },
): Promise<Forge> => {
  const token = await readToken(tokenFile);
  const opened = chooseForge(repo, { ...access, forge, env: { [TOKEN_VARIABLE]: token } });
  if (opened) return opened;
  throw new FleetError('CONFIG_INVALID', 'the token is empty', { at: { file: tokenFile, line: 1 } });
};

const readToken = async (file: string): Promise<string> => {
  const [token = ''] = (await readGivenFile(file, "a forge's token")).split(/\r?\n/, 1);
  return token.trim();
};
