import { goProgram } from './go-program.ts';

/** Encrypts the values of YAML files for Git: the other way that secrets come to a site. */
export const sops = goProgram({
  title: 'SOPS',
  variable: 'FLEET_SOPS',
  name: 'sops',
  path: 'github.com/getsops/sops/v3/cmd/sops',
  version: 'v3.13.3',
  proof: ['--version', '--disable-version-check'],
});
