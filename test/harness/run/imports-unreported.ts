import module from 'node:module';

/**
 * Imported first by each process of the unit tests. vitest reports each import to its own process, which then knows in watch mode the tests
 * that a change concerns; in a single run nothing reads that. Its hook remains for the test files.
 */
const register = module.registerHooks;
if (process.env['VITEST_MODE'] === 'RUN') {
  module.registerHooks = ({ resolve, ...others }) =>
    register({
      ...others,
      resolve: (specifier, context, next) =>
        resolve && /vitest=|mock=/.test(specifier)
          ? resolve(specifier, context, next)
          : next(specifier, context),
    });
}
