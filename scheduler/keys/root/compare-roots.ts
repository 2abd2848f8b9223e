import { formatTime } from '#bundles/time';
import { fingerprint } from '#bundles/trust/keys/key';
import type { TrustRoot } from '#bundles/trust/root/root';
import { describeAuthority } from './describe-root.ts';
import { keyOf, ROOT_ROLES, type RootRole } from './root-roles.ts';

/** The differences between a root and the previous one, one line each; empty if they are equal. */
export const compareRoots = (before: TrustRoot, after: TrustRoot): readonly string[] => [
  ...(before.dev && !after.dev ? ['- no development root any more: one person alone cannot sign'] : []),
  ...(!before.dev && after.dev ? ['- a DEVELOPMENT ROOT from now on'] : []),
  ...(Object.keys(ROOT_ROLES) as RootRole[]).flatMap((role) => compareRole(role, before, after)),
  ...renamed(before, after),
  ...difference(before.agentCertificates, after.agentCertificates, (pem) => {
    const { sha256, ends } = describeAuthority(pem);
    return `authority of agents ${sha256}, until ${ends}`;
  }),
  ...(before.expires.getTime() === after.expires.getTime()
    ? []
    : [`~ valid until ${formatTime(after.expires)}, was ${formatTime(before.expires)}`]),
];

/** Officers who stay, under another name. */
const renamed = (before: TrustRoot, after: TrustRoot): readonly string[] =>
  Object.entries(after.officers).flatMap(([key, name]) => {
    const was = before.officers[key];
    const stays = before.roles.root.keys.some((one) => fingerprint(one) === key);
    return stays && was !== name ? [`~ officer ${key} is named ${name}, was ${was ?? 'without a name'}`] : [];
  });

const compareRole = (role: RootRole, before: TrustRoot, after: TrustRoot): readonly string[] => {
  const [was, is] = [ROOT_ROLES[role].of(before), ROOT_ROLES[role].of(after)];
  const changes = difference(
    was.keys.map(fingerprint),
    is.keys.map(fingerprint),
    (key) => `${keyOf(role)} ${key}`,
  );
  if (was.threshold === is.threshold) return changes;
  return [...changes, `~ ${role}: ${is.threshold} of them must sign, was ${was.threshold}`];
};

const difference = (
  before: readonly string[],
  after: readonly string[],
  say: (one: string) => string,
): readonly string[] => [
  ...before.filter((one) => !after.includes(one)).map((one) => `- ${say(one)}`),
  ...after.filter((one) => !before.includes(one)).map((one) => `+ ${say(one)}`),
];
