// Goroutines with a chain of hashes each, joined by channels.
package main

import (
	"crypto/sha256"
	"fmt"
	"time"
)

const routines, rounds = 50, 200

func main() {
	ticks := make(chan int, routines)
	sums := make([][32]byte, routines)
	for i := 0; i < routines; i++ {
		go func(i int) {
			sum := sha256.Sum256([]byte{byte(i)})
			for round := 0; round < rounds; round++ {
				for j := 0; j < 50; j++ {
					sum = sha256.Sum256(sum[:])
				}
				ticks <- round
				time.Sleep(20 * time.Millisecond)
			}
			sums[i] = sum
			ticks <- -1
		}(i)
	}
	last := 0
	for ended := 0; ended < routines; {
		round := <-ticks
		if round < 0 {
			ended++
		} else if round > last {
			last = round
			fmt.Println("round", round)
		}
	}
	all := sha256.New()
	for _, sum := range sums {
		all.Write(sum[:])
	}
	fmt.Printf("sum %x\n", all.Sum(nil))
}
