/** undici leaves out its second HTTP parser, an experiment that UNDICI_USE_MILO turns on, where esbuildDetection is defined. */
export const WITHOUT_MILO = { define: { esbuildDetection: 'true' } } as const;
