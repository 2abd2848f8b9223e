import { packagedProgram } from './packaged-program.ts';

/** The registry many sites have: no referrers API, so it shows that the fallback tag works. Unpacked, never a service. */
export const dockerRegistry = packagedProgram({
  title: 'docker-registry',
  variable: 'FLEET_DOCKER_REGISTRY',
  name: 'docker-registry',
  suite: 'bookworm',
  proof: ['--version'],
});
