/** How a program is written so that cli/run-compiled.js can run it: one function of CommonJS. */
export const AS_FUNCTION = {
  format: 'cjs',
  postBanner: '(function (exports, require, module, __filename, __dirname) {',
  postFooter: '})',
  codeSplitting: false,
  // Functions keep their names: stack traces of a machine far away are read by people.
  minify: { compress: true, mangle: { keepNames: true }, codegen: { removeWhitespace: true } },
} as const;

/**
 * Otherwise rolldown writes each module in parentheses, and V8 compiles such a function at once. A command evaluates a few hundred of the
 * modules of its program: the others would lie in memory and in the compile cache, which each start reads whole.
 */
export const COMPILED_LATE = { pifeForModuleWrappers: false } as const;
