/** How a program is written so that cli/run-compiled.js can run it: one function of CommonJS. */
export const AS_FUNCTION = {
  format: 'cjs',
  postBanner: '(function (exports, require, module, __filename, __dirname) {',
  postFooter: '})',
  codeSplitting: false,
  // Functions keep their names: stack traces of a machine far away are read by people.
  minify: { compress: true, mangle: { keepNames: true }, codegen: { removeWhitespace: true } },
} as const;
