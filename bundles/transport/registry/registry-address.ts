import { FleetError } from '../../errors.ts';
import type { RegistryAddress } from './registry.ts';

const SCHEME = 'oci://';
/** A DNS name, an IPv4 address or an IPv6 address in brackets, with an optional port. */
const HOST =
  /^(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*|\[[0-9a-f:.]+\])(?::(?<port>[0-9]{1,5}))?$/;
/** OCI distribution spec 1.1, "Pulling manifests": <name>. */
const NAME = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*$/;
/** Length limit of host and name together in many clients. */
const MAX_NAME = 255;

/**
 * Parses 'oci://registry.example:5000/factory/fleet'. Refuses tags and digests, which the program chooses, and credentials, because
 * addresses are logged. @throws FleetError USAGE, whose message never repeats text before an '@'
 */
export const parseRegistryAddress = (text: string): RegistryAddress => {
  if (!text.startsWith(SCHEME)) throw notAnAddress(text, `does not begin with ${SCHEME}`);
  const rest = text.slice(SCHEME.length).replace(/\/$/, '');
  if (/^[^/]*@/.test(rest)) {
    throw new FleetError('USAGE', 'a registry address must not hold a user name or password', {
      hint: 'Log in with docker or podman, or name an auth file',
    });
  }
  const slash = rest.indexOf('/');
  const host = (slash < 0 ? rest : rest.slice(0, slash)).toLowerCase();
  const prefix = slash < 0 ? '' : rest.slice(slash + 1);
  if (!isHost(host)) throw notAnAddress(text, `names an invalid host: ${JSON.stringify(host).slice(0, 80)}`);
  if (/[:@]/.test(prefix)) throw notAnAddress(text, 'holds a tag or digest');
  if (slash >= 0 && !isRepositoryName(prefix))
    throw notAnAddress(text, 'has a path that is not valid in a registry');
  if (text.length > MAX_NAME) throw notAnAddress(text, `is longer than ${MAX_NAME} characters`);
  return { host, prefix };
};

export const formatRegistryAddress = ({ host, prefix }: RegistryAddress): string =>
  `${SCHEME}${host}${prefix && `/${prefix}`}`;

/** True if the name is valid for a repository. */
export const isRepositoryName = (name: string): boolean => name.length <= MAX_NAME && NAME.test(name);

const isHost = (host: string): boolean => {
  const match = HOST.exec(host);
  if (!match || host.length > MAX_NAME) return false;
  const port = match.groups?.['port'];
  return (
    (port === undefined || (Number(port) > 0 && Number(port) < 65_536)) && URL.canParse(`https://${host}/`)
  );
};

const notAnAddress = (text: string, why: string): FleetError =>
  new FleetError('USAGE', `the registry address ${JSON.stringify(text.slice(0, 120))} ${why}`, {
    hint: 'Write it like oci://registry.example:5000/factory/fleet, in lower case and without a tag',
  });
