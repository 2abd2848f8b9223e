import { moduleFile } from './module-files.ts';

/** Tests of the resource manager by which Flux applies objects. */
export const fluxSsa = moduleFile({
  title: 'tests of the resource manager of Flux',
  variable: 'FLEET_FLUX_SSA',
  name: 'flux-ssa',
  module: 'github.com/fluxcd/pkg/ssa@v0.76.2',
  path: '',
});
