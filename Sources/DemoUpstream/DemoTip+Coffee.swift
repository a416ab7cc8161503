extension DemoTip {
  private static func tip(_ id: String, _ title: String, _ body: String, _ tags: String...)
    -> DemoTip
  {
    DemoTip(id: id, drink: .coffee, title: title, body: body, tags: tags)
  }

  static let coffee: [DemoTip] = [
    tip(
      "weigh-coffee-and-water", "Weigh both, coffee and water",
      "Scoops lie: a light roast is denser than a dark one. Start at 60 g of coffee to a litre of "
        + "water for filter and change one thing at a time from there.", "filter", "ratio"),
    tip(
      "bloom", "Let it bloom",
      "Wet fresh grounds with two to three times their weight in water and wait 30 to 45 seconds. "
        + "The gas that leaves would otherwise keep water away from the coffee.",
      "filter", "fresh"),
    tip(
      "grind-just-before", "Grind just before you brew",
      "Ground coffee loses its aroma within minutes, whole beans within weeks. If you change one "
        + "thing about your coffee, make it this one.", "grind", "fresh"),
    tip(
      "sour-grind-finer", "Sour? Grind finer",
      "Sour and thin means that too little was dissolved. Grind finer, brew longer or use hotter "
        + "water, and change only one of them at a time.", "taste", "grind"),
    tip(
      "bitter-grind-coarser", "Bitter and dry? Grind coarser",
      "Harsh bitterness that dries the mouth means that too much was dissolved. Grind coarser, "
        + "shorten the brew, or let the water cool a little.", "taste", "grind"),
    tip(
      "hot-water-light-roast", "Hot water for light roasts",
      "Light roasts give up their sweetness unwillingly: use water just off the boil. Dark roasts "
        + "dissolve easily and are often better at 85 to 90 °C.", "water", "roast"),
    tip(
      "rinse-the-filter", "Rinse the paper filter",
      "Pour hot water through the paper before the coffee goes in. It takes away the taste of "
        + "paper and warms dripper and pot; throw that water away.", "filter"),
    tip(
      "water-is-most-of-it", "Water is most of it",
      "Very hard water makes coffee flat and chalky, very soft water sharp and hollow. If your tap "
        + "is hard, a filter jug is the cheapest improvement there is.", "water"),
    tip(
      "store-beans", "Keep beans dark, dry and closed",
      "Air, light, heat and moisture make beans stale. A closed bag with the air pressed out, in a "
        + "cupboard, is better than an open jar on the counter, and better than the fridge.",
      "storage"),
    tip(
      "freeze-in-portions", "Freeze beans in portions",
      "Well sealed portions keep for months in the freezer. Take out only what you will use, and "
        + "do not put it back: water condenses on cold beans in open air.", "storage"),
    tip(
      "rest-after-roast", "Very fresh is not best",
      "In the first days after roasting, beans give off so much gas that water reaches them "
        + "unevenly. Filter is often best after one week, espresso after two.", "fresh", "roast"),
    tip(
      "french-press-wait", "French press: wait longer",
      "After four minutes, stir the crust and skim the foam, then wait five more. The fine grounds "
        + "sink, and the cup is clean without pressing hard.", "immersion"),
    tip(
      "aeropress-first", "AeroPress: a place to start",
      "Use 15 g of medium-fine coffee and 200 g of water at 90 °C, stir, wait two minutes, and "
        + "press gently for half a minute. Stop when it hisses.", "immersion"),
    tip(
      "moka-hot-water", "Moka pot: start with hot water",
      "Fill the base with hot water up to the valve, so that the grounds are not baked while it "
        + "heats. Low heat, and off the stove as soon as it starts to gurgle.", "moka"),
    tip(
      "moka-no-tamp", "Moka pot: do not tamp",
      "Fill the basket level and leave it loose. Pressed or espresso-fine coffee can raise the "
        + "pressure until the valve opens.", "moka"),
    tip(
      "espresso-ratio", "Espresso: one to two",
      "18 g in, 36 g out, in 25 to 30 seconds is a good first aim. Weigh the cup while it runs: "
        + "volume is hidden by the crema.", "espresso", "ratio"),
    tip(
      "espresso-distribute", "Espresso: level before you tamp",
      "Break up clumps and level the bed first; tamping can only press what is there. A shot that "
        + "sprays or turns pale on one side has found a channel.", "espresso"),
    tip(
      "cold-brew", "Cold brew is patience",
      "80 g of coarse coffee to a litre of cold water, 12 to 18 hours in the fridge, then strain "
        + "through paper. It keeps for several days, covered and cold.", "cold"),
    tip(
      "iced-filter", "Iced filter: brew onto ice",
      "Keep the ratio, but replace 40 % of the water with ice in the pot and grind a little finer. "
        + "The heat draws out the aroma, the ice holds it.", "cold", "filter"),
    tip(
      "swirl-the-slurry", "Swirl at the end",
      "A gentle swirl after the last pour levels the bed, so that water runs through all of it. "
        + "Grounds high on the wall have hardly been brewed.", "filter"),
    tip(
      "clean-the-grinder", "Clean the grinder",
      "Old oils turn rancid and flavour every cup. Brush out the burrs every few weeks; never wash "
        + "steel burrs with water.", "cleaning"),
    tip(
      "milk-temperature", "Milk: stop at 60 °C",
      "Milk tastes sweetest between 55 and 65 °C. Once the jug is too hot to hold, it is time to "
        + "stop; above 70 °C it tastes cooked.", "milk"),
    tip(
      "warm-cup", "Warm the cup",
      "A cold thick cup can take ten degrees from a small coffee. Rinse it with hot water first.",
      "serving"),
    tip(
      "decaf", "Treat decaf gently",
      "Decaffeinated beans are more brittle and age faster. Buy small bags, grind a little coarser "
        + "than usual, and use them soon.", "roast", "storage"),
  ]
}
