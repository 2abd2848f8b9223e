/** Passwords and tokens that our programs take from their environment. */
const OWN_SECRETS = /^(FLEET_.*(PASSWORD|TOKEN|SECRET)|FLEET_(DB|ENROLL)|COSIGN_PASSWORD)$/;

/**
 * The environment for a program that parses what others wrote, such as git, ssh or apt: it needs none of our passwords and tokens, and
 * /proc/<pid>/environ would show them to whatever takes it over.
 */
export const withoutSecrets = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !OWN_SECRETS.test(name)));
